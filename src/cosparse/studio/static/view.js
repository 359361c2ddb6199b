// Where a picture lies in its frame: how large, and how far it is moved.

export class View {
  constructor(frame, sheet, placed) {
    Object.assign(this, { frame, sheet, placed, width: 0, height: 0, scale: 1, base: 1, x: 0, y: 0 });
  }

  get zoomed() {
    return this.scale > this.base * 1.01;
  }
  resize(width, height) {
    const same = this.width && Math.abs(width / height - this.width / this.height) < 0.01;
    const times = same && this.zoomed ? this.width / width : 0; // an enlarged picture covers what it covered before
    [this.width, this.height] = [width, height];
    if (!times) return this.fit();
    this.scale *= times;
    this.base *= times;
    this.place();
  }
  // The sheet has the picture's size times the scale, and lies in the frame at x, y.
  place() {
    const [wide, tall] = [this.width * this.scale, this.height * this.scale];
    const room = (length, shown, at) => (length <= shown ? (shown - length) / 2 : Math.min(0, Math.max(shown - length, at)));
    this.x = room(wide, this.frame.clientWidth, this.x);
    this.y = room(tall, this.frame.clientHeight, this.y);
    Object.assign(this.sheet.style, { width: `${wide}px`, height: `${tall}px`, transform: `translate(${this.x}px, ${this.y}px)` });
    this.sheet.classList.toggle("pixelated", this.scale >= 2);
    this.placed();
  }
  fit(high = Math.min(innerHeight * (innerWidth > 640 ? 0.66 : 0.5), 640)) {
    if (!this.frame.clientWidth || !this.width) return;
    this.base = this.scale = Math.min(this.frame.clientWidth / this.width, high / this.height);
    this.frame.style.height = `${Math.max(120, Math.round(this.height * this.scale))}px`;
    this.place();
  }
  zoom(factor, at) {
    const [x, y] = at || [this.frame.clientWidth / 2, this.frame.clientHeight / 2];
    const scale = Math.min(Math.max(this.scale * factor, Math.min(this.base, 1)), 32);
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.place();
  }
  // Says whether there was any way left to move.
  pan(right, down) {
    const [x, y] = [this.x, this.y];
    [this.x, this.y] = [x + right, y + down];
    this.place();
    return Math.abs(this.x - x) + Math.abs(this.y - y) > 0.5;
  }
  inFrame(event) {
    const box = this.frame.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
  // A place of the picture, in its own pixels.
  spot(event) {
    const [x, y] = this.inFrame(event);
    return [(x - this.x) / this.scale, (y - this.y) / this.scale];
  }
  covers(event) {
    const [x, y] = this.spot(event);
    return x >= 0 && y >= 0 && x <= this.width && y <= this.height;
  }
  // Move so that a place of the picture is seen.
  reveal([x, y]) {
    const inside = (at, shown) => Math.min(0, shown - 24 - at) + Math.max(0, 24 - at);
    this.pan(inside(x * this.scale + this.x, this.frame.clientWidth), inside(y * this.scale + this.y, this.frame.clientHeight));
  }
}
