-- mark.lua: writes a marker also into a full Redis, for a replica to acknowledge.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:confirmed   string: the marker
-- ARGV
--   1  life of the marker, in ms
-- RETURNS
--   OK
-- ATOMICITY
--   Run again it writes the marker again, which is as good.
--
-- A full Redis refuses a script's SET as it does any other, unless the script has written before. It never refuses UNLINK, which
-- counts as a write also if there is no key.

redis.call('UNLINK', KEYS[1])
return redis.call('SET', KEYS[1], '', 'PX', ARGV[1])
