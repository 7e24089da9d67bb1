printf 'water the plants\nx buy milk\npay the rent\n' >"$TODO_FILE"
[ "$(sh todo.sh list)" = "1 water the plants
3 pay the rent" ]
