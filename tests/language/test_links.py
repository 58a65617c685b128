"""Which words with a dot are domains, and which of them are ours."""

from __future__ import annotations

import time

import pytest

from language.privacy.links import foreign_domains, foreign_links

ALLOWED = ("kb.comindware.ru",)


@pytest.mark.parametrize(
    "domain",
    [
        *("evil-example.com/reset", "evil.ru", "EVIL.COM", "Evil.Ru", "mail.evil.co.uk", "evil.com:8080/x", "evil.com?x=1"),
        *("bit.ly/abc", "t.me/support_bot", "t.me/+AbCdEf", "wa.me/79161234567", "clck.ru/3x", "discord.gg/abc"),
        *("пример.рф", "помощь-банк.рф/вход", "xn--e1afmkfd.xn--p1ai", "гос-услуги.онлайн/вход"),
        *("evil.ru/v1", "evil.com/.x", "evil.io/x", "evil.app/reset", "evil.site/x", "secure-login.info", "apple-id.support/x"),
        *("kb.comindwаre.ru", "kb.comindwаre.ru/reset", "kb.comindware.ru.evil.org", "notkb.comindware.ru", "comindware.ru"),
    ],
)  # fmt: skip
def test_a_domain_without_a_scheme_is_found(domain: str) -> None:
    """By an ending that nothing else has, by a path behind another, at hosts where anybody has a page, look-alikes too."""
    for frame in ("{}", "Откройте {} и войдите.", "See {}.", "({})", "**{}**", "«{}»", "_{}_", "| a | {} |", "Сайт:{}"):
        assert foreign_domains(frame.format(domain), ALLOWED) == [domain], frame


@pytest.mark.parametrize("text", ["evil\u200b.com", "ｅvil．com", "evil&#46;com", "ev\u00adil.com", "evil。com"])
def test_typesetting_hides_no_domain(text: str) -> None:
    """Invisible characters, other widths and entities are looked through."""
    assert foreign_domains(f"See {text} now.", ALLOWED) == ["evil.com"]


@pytest.mark.parametrize(
    "text",
    [
        "config.py main.rs docker-compose.yml example.sh readme.md index.html data.json libfoo.so app.pl config.ru",
        "os.path asyncio.run self.model.net user.email logger.info request.app event.date item.link order.store",
        "java.util.List java.net com.example.app/.Main org.springframework.boot System.Net ASP.NET Json.NET Node.js",
        "apps.openshift.io/v1, monitoring.coreos.com/v1, networking.k8s.io/v1, nginx.ingress.kubernetes.io/rewrite-target, Safari.app/Contents/MacOS",
        "т.е. и т.д. т.к. г.Москва ул.Ленина, e.g. i.e. a.m., 1.2.3 v2.0.ru-RU, конец.Начало, работает.Сайт хорош. end.In it gr.Info/Warning",
        "anna@firma.ru ivan.petrov@mail.com git@github.com:a/b.git postgresql://db.firma.ru/x ssh://git@host.ru",
        "postgres.db.local svc.cluster.local:80 192.168.0.1/24 localhost:8000/x host.internal",
        "host=db.firma.ru --url=evil.ru $HOME.ru {name}.firma.ru <region>.firma.com *.firma.ru ~/a.ru ./b.com/x dir/c.net",
        "[here](docs/a.ru), [here](evil.com/reset), `evil.ru`, x.ru, T.me and t.me",
        "```\nevil.ru\n```",
        "example.com, docs.example.org/x, a.test, kb.comindware.ru, ru.kb.comindware.ru/a, KB.Comindware.RU",
        "https://kb.comindware.ru/a?u=evil.ru and https://evil.ru, www.evil.ru",
    ],
)
def test_other_words_with_a_dot_are_no_domains(text: str) -> None:
    """Files, attributes, packages, groups, abbreviations, addresses of mail, options, code, ours, and links of their own."""
    assert foreign_domains(text, ALLOWED) == []


def test_a_domain_that_was_shown_may_be_named() -> None:
    """Whole, in any case and with any path; where anybody has a page, that page alone."""
    shown = ("The mirror is hub.docker.com, see https://files.firma.ru/a and t.me/firma.", "Где bit.ly?")
    assert foreign_domains("Use Hub.Docker.com/r/x, files.firma.ru, t.me/firma", ALLOWED, shown) == []
    said = "docker.com, my-hub.docker.com, hub.docker.com.evil.ru, t.me/evil, bit.ly/abc"
    assert foreign_domains(said, ALLOWED, shown) == said.split(", ")


@pytest.mark.parametrize("link", ["tg://resolve?domain=evil", "whatsapp://send?phone=7", "TG://join?invite=x", "http://пример.рф", "https://xn--e1afmkfd.xn--p1ai/"])  # fmt: skip
def test_what_opens_a_messenger_is_a_link(link: str) -> None:
    """As is an address in letters of another script, or in their code."""
    assert foreign_links(f"See {link} now", ALLOWED) == [link]
    assert foreign_links(f"Run `{link}` now", ALLOWED) == []


@pytest.mark.parametrize(
    "piece", ["a.ru ", "a.", "evil.ru/", "a.a-", "xn--a.", "www.", "(a.ru", "a_.", "a:b.ru ", "рф.", "&#46;ru ", "a\u200b.ru"]
)  # fmt: skip
def test_no_text_keeps_the_search_busy(piece: str) -> None:
    """Forty thousand characters that are nearly domains take less than a second."""
    begun = time.process_time()
    foreign_domains(piece * (40_000 // len(piece)), ALLOWED, ("zz.ru " * 1_000,))
    assert time.process_time() - begun < 1.0
