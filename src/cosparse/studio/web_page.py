"""The page: its look, its three tabs, and what connects them."""

from __future__ import annotations

from typing import Any

import gradio as gr

from cosparse.studio.inside_tab import InsideTab
from cosparse.studio.learn_tab import LearnTab
from cosparse.studio.parts import Studio, plain
from cosparse.studio.repair_tab import RepairTab

# Fonts that are on the machine: nothing is fetched from elsewhere.
FONT = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "sans-serif"]
MONO = ["ui-monospace", "Menlo", "Consolas", "DejaVu Sans Mono", "monospace"]
SCRIPTS = ("studio", "dom", "drop", "gestures", "lists", "manners", "painting", "stage", "view")
HEAD = (
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<link rel="icon" href="studio/icon.svg" type="image/svg+xml">'
    '<link rel="stylesheet" href="studio/studio.css">'
    + "".join(f'<link rel="modulepreload" href="studio/{name}.js">' for name in SCRIPTS)  # all at once
    + '<script type="module" src="studio/studio.js"></script>'
)


SHADES = {  # of grey, by day and in the dark
    "body_background_fill": (50, 950),
    "body_text_color_subdued": (600, 300),
    "block_info_text_color": (600, 300),
    "block_label_text_color": (700, 200),
    "block_title_text_color": (800, 100),
    "button_secondary_background_fill": (200, 700),
    "button_cancel_background_fill": (200, 700),
}


def theme() -> Any:
    """Calm greys and one colour."""
    shades = {name: f"*neutral_{light}" for name, (light, _) in SHADES.items()}
    shades |= {f"{name}_dark": f"*neutral_{dark}" for name, (_, dark) in SHADES.items()}
    return gr.themes.Base(primary_hue="indigo", neutral_hue="slate", radius_size="lg", font=FONT, font_mono=MONO).set(
        block_border_width="1px",
        block_label_text_size="*text_sm",
        button_large_text_weight="600",
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_hover="*primary_700",
        button_primary_text_color="white",
        button_cancel_text_color="#a3211b",
        button_cancel_text_color_dark="#ffb4ab",
        **shades,
    )


def build(studio: Studio) -> Any:
    """The page as Gradio blocks."""
    with gr.Blocks(title="cosparse studio", analytics_enabled=False, delete_cache=(600, 600)) as page:
        plain(
            '<div id="title"><h1>cosparse studio</h1>'
            "<p>Repair pictures with patterns learned from pictures. Everything stays on this machine.</p></div>"
        )
        with gr.Tabs(selected="repair") as tabs:
            with gr.Tab("Repair", id="repair"):
                repair = RepairTab(studio)
            learn_tab = gr.Tab("Learn", id="learn")
            with gr.Tab("Look inside", id="inside") as inside_tab:
                inside = InsideTab(studio, inside_tab)
        with learn_tab:
            LearnTab(studio, repair.operator, inside.operator, tabs)
        repair.connect_reload(page)
        page.unload(lambda: None)  # makes the browser keep a connection, by which the guard sees when it closes
    # Runs have a limit of their own, which says so. This one leaves room for those that were cancelled as they waited:
    # they stay until their turn comes.
    page.queue(max_size=studio.limits.queue + 4 * studio.limits.pages, api_open=False)
    return page
