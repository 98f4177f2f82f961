"""What counts as shown in a repository map."""

from __future__ import annotations

from benchmarks.code.map import asked_names, score_map, shows_path
from benchmarks.code.set import Question, Repository, Target

MAP = "auth/basic.rb:\n⋮\n│class Basic\n\nrequest.rb:\n│class Request\n│  def params\n"


def test_a_path_is_shown_only_as_a_whole() -> None:
    assert shows_path(MAP, "request.rb")
    assert shows_path(MAP, "auth/basic.rb")
    assert not shows_path(MAP, "basic.rb")
    assert not shows_path(MAP, "request.r")
    assert not shows_path("lib/a.rb.erb", "lib/a.rb")


def test_files_and_names_are_shares_of_what_is_asked_for() -> None:
    repository = Repository(
        "rack",
        "lib",
        "ruby",
        (
            Question("0", "Rack::Request", "symbol", (Target("lib/request.rb"),)),
            Question("1", "Reque", "symbol", (Target("lib/response.rb"),)),
            Question("2", "encoding of names", "symbol", (Target("lib/request.rb"),)),
        ),
    )
    assert asked_names(repository) == ["Request", "Reque"]
    assert score_map(repository, MAP) == (0.5, 0.5)
