"""What operations share stands once in the document, and nothing that was said is lost."""

from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from clearhold.api.openapi.schemas import UNMETERED, with_components, with_shared_examples
from clearhold.api.openapi.texts import RATE_HEADERS
from tests.support.openapi import without_references

CODES: Final = ("alert_not_found", "rule_not_found")


def answers() -> st.SearchStrategy[dict[str, Any]]:
    """Refusals by one or two codes, with or without a rate limit, and answers of another kind."""
    return st.builds(
        lambda codes, metered, word: {
            "description": ", ".join(codes) or word,
            "headers": {"X-Request-Id": {"description": word}} | (dict(RATE_HEADERS) if metered else {}),
            "content": {"application/json": {"examples": {code: {"value": code} for code in codes}}},
        },
        st.lists(st.sampled_from(CODES), unique=True),
        st.booleans(),
        st.just("words") | st.sampled_from(["other words", "further words"]),
    )


def is_one_answer_a_name(operations: list[dict[str, Any]]) -> bool:
    """Refusals by the same codes differ in nothing but their headers of a rate limit, as those of the document do."""
    seen: dict[Any, Any] = {}
    for answer in (each for operation in operations for each in operation["responses"].values()):
        codes = tuple(answer["content"]["application/json"]["examples"])
        key = (codes, RATE_HEADERS.keys() <= answer["headers"].keys())
        if codes and seen.setdefault(key, answer) != answer:
            return False
    return True


PARAMETERS: Final = st.builds(
    lambda name, place, words: {"name": name, "in": place, "description": words},
    st.sampled_from(["limit", "programId"]),
    st.sampled_from(["path", "query"]),
    st.sampled_from(["words", "other words"]),
)
OPERATIONS: Final = st.lists(
    st.fixed_dictionaries(
        {
            "parameters": st.lists(PARAMETERS, max_size=3),
            "responses": st.dictionaries(st.sampled_from(["200", "404"]), answers()),
        }
    ),
    max_size=5,
).filter(is_one_answer_a_name)


@given(operations=OPERATIONS)
def test_given_operations_when_what_they_share_stands_once_then_it_is_found_again(
    operations: list[dict[str, Any]],
) -> None:
    paths = {f"/{number}": {"get": operation} for number, operation in enumerate(operations)}
    shared, components = with_components(paths)

    assert without_references({"paths": shared, "components": components})["paths"] == paths


def test_given_a_refusal_of_two_operations_when_shared_then_it_is_named_by_its_codes() -> None:
    refusal = {
        "description": "Not Found",
        "headers": {},
        "content": {"application/json": {"examples": {"alert_not_found": {}, "rule_not_found": {}}}},
    }
    operation = {"parameters": [], "responses": {"404": refusal}}
    shared, components = with_components({"/a": {"get": operation}, "/b": {"get": operation}})
    name = f"alert_not_found.rule_not_found.{UNMETERED}"

    assert components["responses"] == {name: refusal}
    assert shared["/b"]["get"]["responses"] == {"404": {"$ref": f"#/components/responses/{name}"}}


def test_given_an_example_of_two_operations_when_shared_then_it_stands_once_and_both_refer_to_it() -> None:
    def operation(name: str, example: Any) -> dict[str, Any]:
        return {"operationId": name, "responses": {"200": {"content": {"application/json": {"example": example}}}}}

    given = {
        "/a": {"get": operation("a", {"id": 1}), "post": operation("b", {"id": 1})},
        "/c": {"get": operation("c", 7)},
    }

    paths, examples = with_shared_examples(given)

    contents = {
        each["operationId"]: each["responses"]["200"]["content"]["application/json"]
        for methods in paths.values()
        for each in methods.values()
    }
    reference = {"examples": {"a": {"$ref": "#/components/examples/a"}}}
    assert contents == {"a": reference, "b": reference, "c": {"example": 7}}
    assert examples == {"a": {"value": {"id": 1}}}
