-- Times to live (L17). FRAMES keeps the end of a message's time under 'e' and the id (7 bytes), and what
-- becomes of the message then (1 byte: d dropped, b buried). While nobody holds the message, it stands in
-- ENDS by that end. It is never in READY, so that it can be taken out of its place wherever that is.
-- gives: fields_of, outdated_left
local outdated_left = false -- whether more are outdated than one call ends

-- The fields under which FRAMES keeps this of messages: a letter and the id each.
local function fields_of(letter, ids)
  local fields = {}
  for k = 1, #ids do
    fields[k] = letter .. ids[k]
  end
  return fields
end
