"""The moulds that questions are cast in, and what people call the languages. Repeated entries are said more often.

`vp` is a verb with what follows it, `short` the same without articles, `third` and `ing` its other forms, `passive` its
object with a participle, `np` a noun phrase, `keys` only the telling words, `lang` the language.
"""

from __future__ import annotations

from typing import Final

POLITE: Final = (
    "how to {vp}",
    "how do i {vp}",
    "how can i {vp}",
    "how to {vp}",
    "function to {vp}",
    "best way to {vp}",
    "i want to {vp}",
    "need to {vp}",
)
"""What an instruction becomes without a language."""
WITH_LANGUAGE: Final = (
    "{lang} {short}",
    "{lang} {short}",
    "{lang} {short}",
    "{short} {lang}",
    "{short} in {lang}",
    "how to {vp} in {lang}",
    "how to {short} in {lang}",
    "how to {short} {lang}",
    "how do i {vp} in {lang}",
    "how do you {short} in {lang}",
    "{lang} how to {short}",
    "{lang} code to {short}",
    "{lang} function to {short}",
    "{lang} {short} example",
    "{lang} method to {short}",
    "in {lang} how to {short}",
)
"""What it becomes with one: what people type into a web search."""
OF_THE_CODE: Final = (
    "function that {third}",
    "code that {third}",
    "where do we {vp}",
    "where does it {vp}",
    "which function {third}",
    "what {third}",
    "code for {ing}",
    "where is the code for {ing}",
    "{vp}",
    "{short}",
    "{short}",
    "{ing}",
    "implementation of {ing}",
    "logic for {ing}",
    "how does it {vp}",
    "how does the code {vp}",
    "find the function that {third}",
    "where is {passive}",
    "where is {passive}",
    "how is {passive}",
)
"""What people and agents ask of a codebase they have before them."""
OF_A_CLASS: Final = (
    "{lang} class for {np}",
    "class for {np}",
    "{np}",
    "{lang} {np}",
    "where is {np} defined",
    "type that represents {np}",
    "where is {np} implemented",
    "how does {np} work",
)
"""Of a class that is named, not described by what it does."""
OF_A_DOING_CLASS: Final = (
    "class that {third}",
    "{lang} class that {third}",
    "what {third}",
    "{short}",
    "{lang} {short}",
    "how to {short} in {lang}",
    "code that {third}",
    "where is {passive}",
)
"""Of a class that is described by what it does."""
OF_A_NOUN: Final = (
    "{lang} {np}",
    "{np}",
    "get {np}",
    "{lang} get {np}",
    "how to get {np} in {lang}",
    "where is {np} defined",
    "where is {np}",
    "how to get {np}",
)
"""Of a function or value that is only named."""
OF_A_CLAUSE: Final = ("{np}", "{lang} {np}", "{keys}", "{keys} {lang}")
"""Of a sentence that is neither an instruction nor a name."""
RAISED: Final = (
    "exception raised when {np}",
    "{lang} exception when {np}",
    "error when {np}",
    "{lang} error when {np}",
    "what is raised when {np}",
)
"""Of an error, by what goes wrong."""
CALLED: Final = (
    "what happens when {np}",
    "callback when {np}",
    "{lang} callback when {np}",
    "code that runs when {np}",
    "where is it handled when {np}",
)
"""Of a function that others call, by what has happened."""
KEYWORDS: Final = ("{keys}", "{keys}", "{keys} {lang}", "{lang} {keys}")
"""Only the words that say something."""
SPOKEN: Final = {
    "python": ("python",) * 6 + ("python 3",),
    "javascript": ("javascript", "js", "javascript", "node"),
    "typescript": ("typescript", "ts", "typescript"),
    "tsx": ("react", "typescript", "tsx"),
    "go": ("go", "golang"),
    "rust": ("rust",),
    "java": ("java",),
    "c": ("c",),
    "cpp": ("c++", "cpp"),
    "c_sharp": ("c#", "csharp", "dotnet"),
    "kotlin": ("kotlin",),
    "scala": ("scala",),
    "ruby": ("ruby",),
    "php": ("php",),
    "swift": ("swift",),
    "lua": ("lua",),
    "elixir": ("elixir",),
    "haskell": ("haskell",),
    "zig": ("zig",),
    "bash": ("bash", "shell script", "bash"),
    "sql": ("sql",),
    "css": ("css",),
    "dockerfile": ("docker",),
    "make": ("makefile",),
    "hcl": ("terraform",),
    "vue": ("vue",),
    "svelte": ("svelte",),
}
"""What people call the languages, by their names in the table of grammars; repeated as often as they are said."""
