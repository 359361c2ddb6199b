"""The shipped operators and the recipes that made them."""
