printf 'water the plants\nbuy milk\nBuy bread\n' >"$TODO_FILE"
[ "$(sh todo.sh search buy)" = "2 buy milk
3 Buy bread" ]
