#!/bin/sh
# Runs the tests of every command that exists. Each test gets an empty list of its own.
set -eu
cd "$(dirname "$0")"

list=$(mktemp)
trap 'rm -f "$list"' EXIT
passed=0
for command in commands/*.sh; do
    name=$(basename "$command" .sh)
    for test in "tests/$name.sh" "acceptance/$name.sh"; do
        [ -f "$test" ] || continue
        : >"$list"
        if ! TODO_FILE=$list sh -eu "$test"; then
            echo "FAILED $test"
            exit 1
        fi
        passed=$((passed + 1))
    done
done
echo "$passed passed"
