-- newer.lua: updates a hash, unless its content is as new or newer.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state or rr:{<campaign>.0}:nodes   the updated hash
-- ARGV
--   1  field of the revision
--   2  revision, an integer; the larger one is the newer
--   3  'create', or 'update' for a hash that must have a revision already
--   4  time to live of the hash from now on, in ms; 0 leaves it as it is
--   5, 6, 7, 8, ...  field and value, field and value
-- RETURNS
--    1  updated
--    0  stale: the hash holds this revision or a newer one
--   -1  with 'update': there is no revision to be newer than
-- ATOMICITY
--   Comparing and setting are one step: of updates that overtake each other the newest one stays.
--   Run again it changes nothing. The first write is one that a full Redis refuses.

local hash, field, revision = KEYS[1], ARGV[1], tonumber(ARGV[2])
local held = redis.call('HGET', hash, field)
if not held and ARGV[3] == 'update' then
  return -1
end
if held and tonumber(held) >= revision then
  return 0
end
redis.call('HSET', hash, field, ARGV[2], unpack(ARGV, 5))
if ARGV[4] ~= '0' then
  redis.call('PEXPIRE', hash, ARGV[4])
end
return 1
