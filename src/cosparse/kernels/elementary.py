"""What the kernels share: a logarithm and a power that vectorise, the way of patches out of an image and back."""

from __future__ import annotations

import numpy as np

from cosparse.kernels.compiling import inlined


@inlined
def log2(t):  # type: ignore[no-untyped-def]
    """Base-2 logarithm of a positive normal float32, error below 4e-7.

    The exponent is read off the bits; log2(1+y)/y of the mantissa 1+y is a polynomial of degree 7
    (Chebyshev fit on [0, 1]). Unlike libm's it vectorises.
    """
    bits = np.float32(t).view(np.int32)
    exponent = np.float32((bits >> 23) - 127)
    y = np.int32((bits & 0x007FFFFF) | 0x3F800000).view(np.float32) - np.float32(1)
    q = np.float32(-0.01237064)
    q = q * y + np.float32(0.06378759)
    q = q * y + np.float32(-0.15559997)
    q = q * y + np.float32(0.2561797)
    q = q * y + np.float32(-0.35345468)
    q = q * y + np.float32(0.48007375)
    q = q * y + np.float32(-0.72131072)
    q = q * y + np.float32(1.44269477)
    return exponent + y * q


@inlined
def exp2(x):  # type: ignore[no-untyped-def]
    """2 to the power x for |x| < 126, relative error below 3e-7: exponent by bits, the rest by polynomial."""
    whole = np.int32(np.floor(x))
    y = np.float32(x) - np.float32(whole)
    q = np.float32(2.082919028e-04)
    q = q * y + np.float32(1.268935283e-03)
    q = q * y + np.float32(9.652440586e-03)
    q = q * y + np.float32(5.549593618e-02)
    q = q * y + np.float32(2.402272151e-01)
    q = q * y + np.float32(6.931471706e-01)
    q = q * y + np.float32(1.0)
    return q * np.int32((whole + 127) << 23).view(np.float32)


@inlined
def gather(pixels, first, left, right, height, width, down, across, patches):  # type: ignore[no-untyped-def]
    """Patches of the columns [left, right), from number `first` on in reading order, as the rows of `patches`."""
    row, column = first // (right - left), left + first % (right - left)
    for c in range(patches.shape[0]):
        square = pixels[row * down : row * down + height, column * across : column * across + width]
        patch = patches[c]
        if width == 8:  # known when compiled, so that a row is one instruction
            for i in range(height):
                for j in range(8):
                    patch[i * 8 + j] = square[i, j]
        else:
            for i in range(height):
                for j in range(width):
                    patch[i * width + j] = square[i, j]
        column += 1
        if column == right:
            row, column = row + 1, left


@inlined
def scatter(patches, first, left, right, height, width, down, across, pixels):  # type: ignore[no-untyped-def]
    """The adjoint of :func:`gather`: add the patches where they came from."""
    row, column = first // (right - left), left + first % (right - left)
    for c in range(patches.shape[0]):
        square = pixels[row * down : row * down + height, column * across : column * across + width]
        patch = patches[c]
        if width == 8:
            for i in range(height):
                for j in range(8):
                    square[i, j] += patch[i * 8 + j]
        else:
            for i in range(height):
                for j in range(width):
                    square[i, j] += patch[i * width + j]
        column += 1
        if column == right:
            row, column = row + 1, left
