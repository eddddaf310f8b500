"""Runs unittest's tests, and says what came of them as the other suites do; their names are the facts."""
import os
import sys
import unittest


class Lines(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.passed = 0
        self.bad = {}

    def name(self, test):
        return test.id().rsplit(".", 1)[1][len("test_"):]

    def addSuccess(self, test):
        super().addSuccess(test)
        if test.id() not in self.bad:
            self.passed += 1
            print(f"ok {self.name(test)}", flush=True)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"skip {self.name(test)} - {reason}", flush=True)

    def addFailure(self, test, error):
        self.refuse(test, error)

    def addError(self, test, error):
        self.refuse(test, error)

    def addSubTest(self, test, part, error):
        if error:
            self.refuse(test, error)

    def refuse(self, test, error):
        if test.id() not in self.bad:
            name = self.name(test) if isinstance(test, unittest.TestCase) else test.id()
            print(f"not ok {name} - {error[0].__name__} {str(error[1])[:600]}".replace("\n", " "), flush=True)
        self.bad[test.id()] = True


def select(suite, parts):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from select(test, parts)
        elif not parts or any(part in test.id() for part in parts):
            yield test


directory, *parts = sys.argv[1:]
sys.path.insert(0, os.path.abspath(directory))
result = Lines()
unittest.TestSuite(select(unittest.defaultTestLoader.discover(directory), parts)).run(result)
print(f"{result.passed} passed, {len(result.bad)} failed, {len(result.skipped)} skipped")
sys.exit(len(result.bad) != 0)
