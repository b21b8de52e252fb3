"""A function in a few lines, as people write them: what planner.py, builder.py and tester.py understand.

    Create a function gcd(a, b)
    If b == 0: a
    Otherwise: gcd(b, a % b)
    Test gcd(12, 18) = 6

The first line names the function and its parameters, and may tell what for. Then come what it gives in which case, and what it gives
otherwise, as expressions of Python: arithmetic, comparisons, `and`, `or`, `not`, texts, lists, parts of them, the
function itself, and what FUNCTIONS has. Each test says what the function gives for which values, as JSON has them.
"""

import ast
import functools
import json
import keyword
import re

FUNCTIONS = {"abs", "int", "len", "list", "max", "min", "range", "reversed", "round", "sorted", "str", "sum"}

ALLOWED = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Name, ast.Constant,
    ast.List, ast.Tuple, ast.Subscript, ast.Slice, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context,
)

NAMED = re.compile(r"(?:.*?\b)?function\s+(\w+)\s*\(([\w\s,]*)\)\s*(?:[.:,]|[.:,]?\s+(?:that|which|to|for)\b.*)?$", re.I)
CASE = re.compile(r"(?:if|when)\s+(.+)$", re.I)
# What may stand between a case and its value; a colon may also stand inside of either.
THEN = re.compile(r"\s*(?::|,\s*(?:give|return)\b)\s*", re.I)
OTHERWISE = re.compile(r"(?:otherwise|else|give|return)\s*:?\s*(.+)$", re.I)
TEST = re.compile(r"(?:test|example|where)\s*:?\s*(\w+)\s*\((.+)$", re.I)
# What may stand between a call and its outcome; texts may have it in them too.
GIVES = re.compile(r"\)\s*(?:==?|is\b|gives\b)\s*", re.I)


class Function:
    """A function: its name, its parameters, what it gives in which case, what otherwise, and its tests."""

    def __init__(self, name, parameters):
        self.name, self.parameters = name, parameters
        self.cases, self.otherwise, self.tests = [], None, []

    def steps(self):
        """The same as steps of a plan, a line each; `read` reads them back."""
        cases = [f"If {condition}: {value}" for condition, value in self.cases]
        return [f"Define function {self.name}({', '.join(self.parameters)})", *cases, f"Otherwise: {self.otherwise}"]


def read(text):
    """Reads a specification, or the steps of a plan; says with its line what cannot be understood."""
    function = None
    for number, line in enumerate(filter(None, map(str.strip, text.splitlines())), 1):
        if function is None:
            found = NAMED.match(line)
            if not found:
                raise ValueError(f"line {number}: expected a function with its parameters, such as function gcd(a, b)")
            parameters = [name.strip() for name in found[2].split(",") if name.strip()]
            function = Function(found[1], parameters)
            for name in (function.name, *parameters):
                if not name.isidentifier() or keyword.iskeyword(name):
                    raise ValueError(f"line {number}: {name} is no name that a function or parameter can have")
        else:
            read_line(function, number, line)
    if function is None or function.otherwise is None:
        raise ValueError("expected a function and what it gives otherwise, in a line such as Otherwise: a + b")
    return function


def read_line(function, number, line):
    try:
        if found := TEST.match(line):
            if found[1] != function.name:
                raise ValueError(f"expected a test of {function.name}, found one of {found[1]}")
            arguments, expected = cut(GIVES, found[2], lambda text: value(f"[{text}]"), value)
            function.tests.append({"arguments": arguments, "expected": expected})
        elif found := CASE.match(line):
            part = functools.partial(expression, function)
            function.cases.append(cut(THEN, found[1], part, part))
        elif found := OTHERWISE.match(line):
            function.otherwise = expression(function, found[1])
        else:
            raise ValueError("expected If ..: .., Otherwise: .., or Test ..(..) = ..")
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"line {number}: {error}") from None


def value(text):
    """A value as JSON has it, which it goes to the agents as: a tuple is a list there."""
    try:
        return json.loads(json.dumps(ast.literal_eval(text), allow_nan=False))
    except (SyntaxError, TypeError, ValueError):
        raise ValueError(f"expected a number, a text, True, False, None, or lists of them, found {text}") from None


def cut(mark, text, read_begin, read_end):
    """The text's two parts, cut at the first mark where both can be read."""
    wrong = ValueError("expected a case and a colon, or a call and what it gives")
    for found in mark.finditer(text):
        try:
            return read_begin(text[:found.start()]), read_end(text[found.end():].rstrip("."))
        except (SyntaxError, ValueError) as error:
            wrong = error
    raise wrong


def expression(function, text):
    """The expression in Python's own spelling, if it has nothing in it but what is allowed."""
    tree = ast.parse(text.strip(), mode="eval")
    known = {*function.parameters, *FUNCTIONS, function.name}
    for node in ast.walk(tree):
        if not isinstance(node, ALLOWED):
            raise ValueError(f"{type(node).__name__} is not allowed in {text!r}")
        if isinstance(node, ast.Name) and node.id not in known:
            raise ValueError(f"{node.id} is neither a parameter nor a known function")
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
            raise ValueError(f"only functions can be called in {text!r}")
    return ast.unparse(tree)
