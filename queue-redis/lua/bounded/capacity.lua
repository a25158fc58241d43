-- capacity: how many messages fit.
--
-- Returns the stored capacity.
return tonumber(meta[6])
