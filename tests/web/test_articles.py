"""A whole article over HTTP."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.support.web_server import Running


@pytest.mark.parametrize("name", ["doc:corpus/en/lend-a-book.md#1", "corpus/en/lend-a-book.md", "11"])
def test_an_article_is_read_by_each_of_its_names(server: Running, name: str) -> None:
    """The reference of a passage, the key of the document and its number lead to the same article."""
    article = server.ask("GET", f"/v1/articles/{quote(name, safe='')}").json()
    assert article["title"] == "Lending a book"
    assert article["text"].startswith("# Lending a book\n")
    assert article["url"] == "https://shelf.example/en/lend-a-book"


def test_what_is_found_and_cited_can_be_read(server: Running) -> None:
    """The reference that a search returns names an article, also where its address has slashes and signs."""
    [found] = server.ask("GET", "/v1/search?q=overdue+fine&top_k=1").json()["items"]
    article = server.ask("GET", f"/v1/articles/{quote(found['ref'])}")
    assert found["snippet"] in article.json()["text"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("none.md", 404),
        ("%00", 404),
        ("99999999999999999999", 404),
        ("11?part=2", 404),
        ("11?part=0", 400),
        ("11?language=de", 400),
        ("x" * 1001, 400),
        ("..%2F..%2Fpyproject.toml", 404),
    ],
)
def test_what_there_is_not_is_told_in_few_words(server: Running, path: str, status: int) -> None:
    """An unknown name is 404 and a wrong value 400, with a way out."""
    refused = server.ask("GET", f"/v1/articles/{path}")
    assert refused.status_code == status
    assert len(refused.text) < 600
    assert refused.json()["error"]["message"]


def test_an_article_needs_a_key_as_everything_does(server: Running) -> None:
    """Without a key there is nothing to read."""
    assert server.ask("GET", "/v1/articles/11", Authorization="Bearer gk-no").status_code == 401
