# Plays every phase of a sprint; `hook.sh` beside it comes first and may do something else.
# Calls are noted in `calls`, and in `ends` as the last thing that an agent does.
out=$(dirname "$0")
system=$1
phase=${CALLSHEET_PHASE#sprint-}
stories=$CALLSHEET_STORIES
attempt=$CALLSHEET_ATTEMPT
keys=$(echo "$stories" | tr , ' ')
story=${stories%%,*}
impl=_bmad-output/implementation-artifacts
plan=_bmad-output/planning-artifacts
board=$impl/sprint-status.yaml
echo "$phase $stories $attempt" >> "$out/calls"
nth=$(grep -c -x "$phase $stories $attempt" "$out/calls")

# Adds what is there of these paths.
add() { for path in "$@"; do if [ -e "$path" ]; then git add -- "$path"; fi; done; }
commit() { git -c user.name=n -c user.email=e@x commit --quiet --message "$1"; }
# Waits for the test.
hold() {
    touch "$out/there"
    while [ ! -e "$out/go" ]; do sleep 0.02; done
}
ended() {
    echo "$phase $stories $attempt $CALLSHEET_RUN" >> "$out/ends"
    exit 0
}

. "$out/hook.sh"

case $phase in
generate-project-context)
    mkdir -p $plan
    echo "# Context" > $plan/project-context.md
    ;;
create-story)
    for key in $keys; do
        echo "# Story $key" > $impl/sprint-$key.md
        echo "[TECH-SPEC-DECISION: SKIP]"
    done
    ;;
create-story-discovery)
    for key in $keys; do echo "# Found for $key" > $impl/sprint-$key-discovery-story.md; done
    ;;
create-tech-spec)
    for key in $keys; do echo "# Spec of $key" > $impl/sprint-tech-spec-$key.md; done
    ;;
story-review | tech-spec-review) echo "[CRITICAL-ISSUES-FOUND: NO]" ;;
dev-story)
    mkdir -p src
    echo "code of $story" > "src/$story.txt"
    echo "[DEV-STORY-COMPLETE: YES]"
    ;;
code-review) echo "ZERO ISSUES" ;;
commit)
    for key in $keys; do
        add "src/$key.txt" $impl/sprint-$key.md $impl/sprint-$key-discovery-story.md $impl/sprint-tech-spec-$key.md
    done
    add $board
    git diff --cached --quiet || commit "feat: implement $stories"
    ;;
esac
ended
