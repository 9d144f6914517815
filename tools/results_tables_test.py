"""The tables of docs/RESULTS.md and docs/SWEEP.md are those of the schemas, and its list of row keys is that of the program."""

import os
import re
import subprocess
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class ResultsTables(unittest.TestCase):
    def test_the_tables_are_those_of_the_schemas(self):
        script = os.path.join(ROOT, "tools", "results-tables")
        self.assertEqual(subprocess.run([script, "--check"], check=False).returncode, 0)

    def test_every_key_of_a_row_is_told(self):
        row = re.search(r"struct Row<'a> \{(.*?)\n\}", read("src/record/line.rs"), re.S).group(1)
        keys = re.findall(r"^    (\w+):", row, re.M)
        self.assertGreater(len(keys), 30)
        page = read("docs/RESULTS.md").split("## summary.json")[0]
        self.assertEqual([key for key in keys if f"`{key}`" not in page], [])


if __name__ == "__main__":
    unittest.main()
