"""Statements with parameters do not search for pandas, which is not installed."""

import subprocess
import sys
from typing import Final

PROGRAM: Final = """
import sys
import duckdb
import polars
import pyarrow
from clearhold.store.duck.no_pandas import spare_search_for_pandas

class Searches:
    count = 0

    def find_spec(self, name, path=None, target=None):
        self.count += name == "pandas"

spare_search_for_pandas()
searches = Searches()
sys.meta_path.insert(0, searches)
database = duckdb.connect()
print(database.execute("SELECT ?::BIGINT + 1, ?::VARCHAR", [1, "two"]).fetchall())
database.register("given", pyarrow.table({"a": pyarrow.array([1, 2])}))
print(database.execute("SELECT sum(a)::BIGINT FROM given WHERE a > ?", [1]).fetchall())
print(polars.DataFrame({"a": [1]}).to_arrow().to_pylist(), searches.count)
"""


def test_given_a_process_of_the_service_when_a_statement_has_parameters_then_no_module_is_searched_for() -> None:
    answer = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)

    assert answer.stdout.splitlines() == ["[(2, 'two')]", "[(2,)]", "[{'a': 1}] 0"]
