"""A strict reader of pages: every element closed, every element and attribute counted."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br"}


class Reader(HTMLParser):
    """Collects elements, attributes and text; refuses an end tag that does not fit."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []

    def read(self, page: str) -> Reader:
        self.feed(page)
        self.close()
        assert self.open == [], f"left open: {self.open}"
        return self

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> does not fit"

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    @property
    def ids(self) -> list[str | None]:
        return [value for name, value in self.attributes if name == "id"]
