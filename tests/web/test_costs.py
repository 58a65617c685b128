"""What language models cost: counted by the profile's prices, shown, and bounded by budgets of a day."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.config.settings import BudgetSettings, Settings
from assistant.deployment import deployment
from assistant.service import Caller, Question, open_service
from assistant.turns.events import NodeStarted
from assistant.turns.progress import money
from assistant.turns.spending import Budget, Spending
from assistant.visitors import begin_visit
from assistant.wiring.access import visitor_seal
from contracts.calls import ModelCall
from contracts.enums import CallPurpose
from contracts.errors import BudgetSpent, ConfigError
from contracts.prices import ModelPrice, Prices
from tests.support.cli_helpers import PROFILE, QUESTION, Desk
from tests.support.storage import read_files
from tests.support.web_server import ROLES, serve_deployment
from tests.support.wire.server_process import FakeServer, fake_server

PRICED = '\n[prices]\ncurrency = "EUR"\n\n[prices.models."fake-model"]\nprompt = 1000.0\ncompletion = 4000.0\n'


def call(**tokens: int | None) -> ModelCall:
    return ModelCall(purpose=CallPurpose.DRAFT, model="m", server="s").model_copy(update=tokens)


@pytest.fixture(scope="module")
def models() -> Iterator[FakeServer]:
    with fake_server() as server:
        yield server


@pytest.fixture
def priced(library: Desk, models: FakeServer, tmp_path: Path) -> Desk:
    """A desk whose model costs a lot."""
    models.reset()
    path = tmp_path / "priced.toml"
    documents = f'path = "{PROFILE.parent.as_posix()}/'
    path.write_text(PROFILE.read_text("utf-8").replace('path = "', documents) + PRICED, "utf-8")
    desk = library.copied(tmp_path / "data").having(GUARDIAN_MODEL="fake-model", OPENAI_BASE_URL=models.url)
    return desk.having(GUARDIAN_PROFILE=str(path))


# ------------------------------------------------------------------------------------------------------------- prices


@pytest.mark.parametrize(
    ("tokens", "cost"),
    [
        ({"prompt_tokens": 1_000_000, "completion_tokens": 0}, 2.0),
        ({"prompt_tokens": 1_000_000, "completion_tokens": 500_000, "reasoning_tokens": 400_000}, 6.0),
        ({"prompt_tokens": 1_000_000, "completion_tokens": 0, "cached_tokens": 500_000}, 1.25),
        ({"prompt_tokens": 1_000_000, "completion_tokens": None, "cached_tokens": 9_000_000}, 0.5),
        ({"prompt_tokens": None, "completion_tokens": None}, None),
    ],
)
def test_a_request_costs_its_tokens_by_the_million(tokens: dict[str, int | None], cost: float | None) -> None:
    """Cached tokens are part of the prompt, and reasoning of the completion; what nobody counted costs nothing known."""
    assert ModelPrice(prompt=2.0, completion=8.0, cached=0.5).cost_of(call(**tokens)) == cost


def test_only_models_with_a_price_are_counted() -> None:
    """Without any, nothing is known, which is not nothing."""
    prices = Prices(models={"m": ModelPrice(prompt=1.0, completion=1.0)})
    other = call(prompt_tokens=10).model_copy(update={"model": "other"})
    assert prices.cost_of([other, call(prompt_tokens=1_000_000)]) == 1.0
    assert prices.cost_of([other]) is prices.cost_of([]) is None


@pytest.mark.parametrize(
    ("amount", "text"), [(12.3456, "12.35 EUR"), (0.0, "0.00 EUR"), (0.0123, "0.012 EUR"), (1e-7, "0.00000010 EUR")]
)
def test_small_amounts_keep_the_digits_that_say_something(amount: float, text: str) -> None:
    assert money(amount, "EUR") == text


# -------------------------------------------------------------------------------------------------------- where it is told


def test_what_a_turn_cost_is_told_wherever_an_operator_looks(priced: Desk) -> None:
    """In the result, on the terminal, of the conversation and of the period."""
    told = priced.result(QUESTION, "--thread", "t")["diagnostics"]
    assert told["currency"] == "EUR"
    assert told["cost"] == pytest.approx((told["tokens"]["prompt"] + 4 * told["tokens"]["completion"]) / 1000)
    cost = money(told["cost"], "EUR")
    assert f", {cost};" in priced.on_terminal("ask", QUESTION, "--thread", "s").err
    assert cost in priced.run("threads", "show", "t").out
    assert cost in priced.run("review", "show", "t", "1").out
    assert "EUR" in priced.run("report", "--since", "1d").out
    assert priced.run("review", "export", "--format", "jsonl").out.count('"currency": "EUR"') == 2


def test_metrics_sum_what_models_cost(priced: Desk) -> None:
    """By currency; an error costs nothing."""
    with serve_deployment(deployment(environment=priced.environment)) as running:
        running.ask("POST", "/v1/ask", {"question": QUESTION})
        metrics = running.ask("GET", "/metrics").text
    assert 'guardian_model_cost_total{currency="EUR"} ' in metrics


# ------------------------------------------------------------------------------------------------------------- budgets


def test_a_spent_budget_refuses_questions_till_the_day_ends(priced: Desk) -> None:
    """HTTP 429 with the seconds until then; an answer that is there is given again, and other keys have their own."""
    desk = priced.having(GUARDIAN_BUDGET_KEY="0.5")
    with serve_deployment(deployment(environment=desk.environment), keys=ROLES) as running:
        first = {"question": QUESTION, "thread_id": "t", "turn_id": "one"}
        answered = running.ask("POST", "/v1/ask", first)
        assert answered.status_code == 200, answered.text
        refused = running.ask("POST", "/v1/ask", {"question": QUESTION, "thread_id": "t", "turn_id": "two"})
        assert refused.status_code == 429
        assert refused.json()["error"]["type"] == "insufficient_quota"
        assert 0 < int(refused.headers["Retry-After"]) <= 86_401
        assert refused.json()["error"]["way_out"] == "Ask again after 00:00 UTC."
        assert "GUARDIAN_" not in refused.text
        again = running.ask("POST", "/v1/ask", first)
        assert again.json() == answered.json()
        assert running.ask("POST", "/v1/ask", {"question": QUESTION}, name="boris").status_code == 200


async def test_deleting_a_conversation_gives_no_money_back(priced: Desk) -> None:
    """The sums are kept apart from what was said."""
    deployed = deployment(environment=priced.having(GUARDIAN_BUDGET_DAY="0.5").environment)
    async with open_service(deployed) as service:
        await service.ask(Caller(), Question(QUESTION, "t"))
        await service.delete(Caller(), "t")
        with pytest.raises(BudgetSpent, match="all callers together"):
            await service.ask(Caller(), Question(QUESTION, "s"))


@pytest.mark.parametrize("ends", ["left", "stopped", "finished by the next message"])
async def test_what_a_turn_cost_counts_however_it_ends(priced: Desk, models: FakeServer, ends: str) -> None:
    """It was paid for: who goes away in time is bounded like everybody else."""
    models.script([{"when": {"purpose": "draft"}, "reply": {"hang": True}, "times": 1}])
    deployed = deployment(environment=priced.having(GUARDIAN_BUDGET_DAY="0.5").environment)
    drafting = asyncio.Event()

    def note(event: object) -> None:
        if isinstance(event, NodeStarted) and event.node == "draft":
            drafting.set()

    async with open_service(deployed) as service:
        asking = asyncio.create_task(service.ask(Caller(), Question(QUESTION, "t"), note))
        await drafting.wait()
        if ends == "stopped":
            await service.stop(Caller(), "t")
            [turn] = await service.turns(Caller(), "t")
            assert turn.result is not None
            assert turn.result["diagnostics"]["cost"] > 0
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        with pytest.raises(BudgetSpent):
            await service.ask(Caller(), Question(QUESTION, "t" if ends.startswith("finished") else "s"))


@pytest.mark.parametrize("again", ["sent again", "resumed", "stopped"])
async def test_who_leaves_at_once_gets_nothing_for_nothing(priced: Desk, again: str) -> None:
    """Until its first node has ended, a turn has the requests of the one before in its state: they are not its own."""
    async with open_service(deployment(environment=priced.environment)) as service:
        first = await service.ask(Caller(), Question(QUESTION, "t", "one"))
        begun = asyncio.Event()

        def note(event: object) -> None:
            if isinstance(event, NodeStarted):
                begun.set()

        asking = asyncio.create_task(service.ask(Caller(), Question(QUESTION, "t", "two"), note))
        await begun.wait()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        if again == "resumed":
            resumed = await service.resume(Caller(), "t")
            assert resumed is not None
            second = (await resumed.result()).diagnostics.cost
        elif again == "sent again":
            second = (await service.ask(Caller(), Question(QUESTION, "t", "two"))).diagnostics.cost
        else:
            await service.stop(Caller(), "t")
            second = ((await service.turns(Caller(), "t"))[-1].result or {})["diagnostics"].get("cost")
    async with await Spending.open(deployment(environment=priced.environment).threads_file) as spending:
        spent = await spending.spent(datetime.now(UTC).date().isoformat(), "*", "EUR")
    assert spent == pytest.approx((first.diagnostics.cost or 0.0) + (second or 0.0))
    assert (second is None) == (again == "stopped")


async def test_messages_that_wait_for_each_other_are_refused_one_by_one(priced: Desk) -> None:
    """Each looks at the budget when it is its turn."""
    deployed = deployment(environment=priced.having(GUARDIAN_BUDGET_DAY="0.5").environment)
    async with open_service(deployed) as service:
        asked = [service.ask(Caller(), Question(QUESTION, "t", str(number))) for number in range(4)]
        ended = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(one) for one in ended].count(BudgetSpent) == 3


@pytest.mark.parametrize("path", ["/v1/ask", "/v1/chat/completions"])
def test_a_stream_is_refused_before_it_begins(priced: Desk, path: str) -> None:
    """With the status and the seconds, as without a stream."""
    desk = priced.having(GUARDIAN_BUDGET_DAY="0.5")
    said = {"messages": [{"role": "user", "content": QUESTION}], "model": "shelf"}
    body = {"question": QUESTION} if path == "/v1/ask" else said
    with serve_deployment(deployment(environment=desk.environment)) as running:
        assert running.ask("POST", path, body).status_code == 200
        refused = running.ask("POST", path, {**body, "stream": True})
    assert refused.status_code == 429
    assert "Retry-After" in refused.headers


def test_visitors_of_one_address_share_its_budget(priced: Desk) -> None:
    """Whoever throws the cookie away is bounded, too; the address itself is nowhere on disk."""
    deployed = deployment(environment=priced.having(GUARDIAN_BUDGET_ADDRESS="0.5", GUARDIAN_VISITORS="on").environment)
    seal = visitor_seal(deployed)
    with serve_deployment(deployed) as running:
        visits = [seal.sign(begin_visit(4_000_000_000)) for _ in range(2)]
        asked = [running.ask("POST", "/v1/ask", {"question": QUESTION}, X_Guardian_Visitor=visit) for visit in visits]
    assert [reply.status_code for reply in asked] == [200, 429]
    assert "this address" in asked[1].json()["error"]["message"]
    kept = b"".join(read_files(deployed.folder))
    assert b"127.0.0.1" not in kept.replace(priced.more["OPENAI_BASE_URL"].split("/")[2].encode(), b"")


async def test_a_half_finished_turn_waits_for_another_day(priced: Desk, models: FakeServer) -> None:
    """To resume it again and again would cost again and again."""
    models.script([{"when": {"purpose": "draft"}, "reply": {"hang": True}, "times": 1}])
    deployed = deployment(environment=priced.having(GUARDIAN_BUDGET_DAY="0.5").environment)
    async with open_service(deployed) as service:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(service.ask(Caller(), Question(QUESTION, "t", "one")), 3)
        with pytest.raises(BudgetSpent):
            await service.resume(Caller(), "t")
        with pytest.raises(BudgetSpent):
            await service.ask(Caller(), Question(QUESTION, "t", "one"))
    async with open_service(deployment(environment=priced.environment)) as service:
        resumed = await service.resume(Caller(), "t")
        assert resumed is not None
        result = await resumed.result()
    async with await Spending.open(deployed.threads_file) as spending:
        day = datetime.now(UTC).date().isoformat()
        assert await spending.spent(day, "*", "EUR") == pytest.approx(result.diagnostics.cost)


def test_sums_are_of_all_turns_and_are_erased_with_their_visitor(priced: Desk) -> None:
    """A conversation's and a day's; nothing else need be kept of who is erased."""
    costs = [priced.result(QUESTION, "--thread", "t")["diagnostics"]["cost"] for _ in range(2)]
    assert money(sum(costs), "EUR") in priced.run("threads", "show", "t").out
    assert money(sum(costs), "EUR") in priced.run("report", "--since", "1d").out
    assert priced.run("report", "--since", "1d", "--out", str(priced.data / "report")).code == 0
    [page] = (priced.data / "report").glob("*.html")
    assert money(sum(costs), "EUR") in page.read_text("utf-8")
    name = f"v_{1:032x}"

    async def add() -> None:
        async with await Spending.open(deployment(environment=priced.environment).threads_file) as spending:
            await spending.add("2026-11-27", name, 1.0, "EUR")

    asyncio.run(add())
    assert priced.run("visitors", "erase", name).code == 0
    assert priced.run("visitors", "erase", name).code == 1


def test_a_budget_without_a_price_is_refused_at_the_start(library: Desk) -> None:
    """Nothing of it would be counted, so it would bound nothing."""
    desk = library.having(GUARDIAN_BUDGET_DAY="5", GUARDIAN_MODEL="nameless", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    said = desk.run("ask", QUESTION)
    assert said.code != 0
    assert '[prices.models."nameless"]' in said.err


async def spent(budget: Budget, caller: str = "", address: str = "") -> bool:
    try:
        await budget.check(caller, address)
    except BudgetSpent:
        return True
    return False


async def test_each_sender_has_a_budget_of_each_day(tmp_path: Path) -> None:
    """A key's, a visitor's and an address's are apart; at midnight in UTC each begins again, and old sums go."""
    clock = [datetime(2026, 11, 27, 23, 59, 50, tzinfo=UTC)]
    settings = BudgetSettings.read({f"GUARDIAN_BUDGET_{name}": "1" for name in ("KEY", "VISITOR", "ADDRESS")})
    visitors = [f"v_{number:032x}" for number in range(3)]
    async with await Spending.open(tmp_path / "threads.db") as spending:
        budget = Budget(spending, settings, "USD", lambda: clock[0])
        await budget.add("anna", "", 1.0)
        await budget.add(visitors[0], "10.0.0.1", 0.6)
        await budget.add(visitors[1], "10.0.0.1", 0.6)
        assert [await spent(budget, name) for name in ("anna", "boris", *visitors)] == [
            True,
            False,
            False,
            False,
            False,
        ]
        assert await spent(budget, visitors[2], "10.0.0.1")
        assert not await spent(budget, visitors[2], "10.0.0.2")
        with pytest.raises(BudgetSpent) as refused:
            await budget.check("anna", "")
        assert refused.value.retry_after_s == 10
        clock[0] += timedelta(seconds=10)
        assert not await spent(budget, "anna")
        await budget.add("boris", "", 0.1)
        assert await spending.spent("2026-11-27", "anna", "USD") == 0.0
        assert "10.0.0" not in (tmp_path / "threads.db").read_bytes().decode("latin-1")


async def test_turns_at_once_are_all_counted(tmp_path: Path) -> None:
    """Of two processes, too: each adds to what is there."""
    path = tmp_path / "threads.db"
    async with await Spending.open(path) as one, await Spending.open(path) as other:
        await asyncio.gather(
            *(table.add("2026-11-27", "anna", 0.25, "USD") for table in (one, other) for _ in range(8))
        )
        assert await one.spent("2026-11-27", "anna", "USD") == 4.0
        assert await other.forget("anna") == 1
        assert await one.spent("2026-11-27", "anna", "USD") == 0.0


@pytest.mark.parametrize("value", ["-1", "much", "nan", "inf"])
def test_a_budget_is_an_amount(value: str) -> None:
    """Anything else is refused by its name."""
    with pytest.raises(ConfigError, match="GUARDIAN_BUDGET_DAY"):
        Settings.read({"GUARDIAN_BUDGET_DAY": value})
