-- The end of the long way.
-- needs: long_way
end
return long_way()
