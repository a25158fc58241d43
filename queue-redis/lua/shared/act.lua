-- The time has come to look: first things first, then what the verb is for.
-- needs: act, tidy
tidy()
return act()
