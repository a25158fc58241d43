-- It was not quiet: first things first, then what the verb is for.
-- needs: act, tidy
tidy()
return act()
