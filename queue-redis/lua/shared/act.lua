-- It was not quiet: first things first, then what the verb is for.
tidy()
return act()
