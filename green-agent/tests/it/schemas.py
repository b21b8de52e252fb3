"""Validates files of runs with PyPI's jsonschema, and reads them with the classes that datamodel-code-generator makes.

Usage: schemas.py GREEN_AGENT FILES. FILES is a JSON list of pairs: the name of a schema, and a file that is valid under it.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys

from datamodel_code_generator import DataModelType, InputFileType, PythonVersion, generate
from jsonschema import Draft202012Validator

program, files = sys.argv[1:]
validators = {}
classes = {}


def learn(name):
    """Keeps the validator of a schema, and its class."""
    text = subprocess.run([program, "schema", name], check=True, capture_output=True, text=True).stdout
    schema = json.loads(text)
    Draft202012Validator.check_schema(schema)
    validators[name] = Draft202012Validator(schema)
    source = pathlib.Path(f"{name}.py")
    generate(
        text,
        input_file_type=InputFileType.JsonSchema,
        output=source,
        output_model_type=DataModelType.PydanticV2BaseModel,
        target_python_version=PythonVersion.PY_311,
        class_name="Root",
    )
    spec = importlib.util.spec_from_file_location(name, source)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    classes[name] = module.Root


for name, path in json.loads(pathlib.Path(files).read_text()):
    if name not in classes:
        learn(name)
    text = pathlib.Path(path).read_text()
    for document in text.splitlines() if path.endswith(".jsonl") else [text]:
        value = json.loads(document)
        validators[name].validate(value)
        # A later program may add members at any place.
        validators[name].validate({**value, "addition": {"later": True}})
        read = classes[name].model_validate(value)
        again = json.loads(read.model_dump_json(by_alias=True, exclude_unset=True))
        assert again == value, (name, value, again)
