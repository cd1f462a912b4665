-- open.lua: stocks a shard and opens it.
--
-- KEYS
--   1  rr:{<campaign>.<shard>}:state   hash: the shard's settings and counts, see grab/store/keys.go
--   2  rr:{<campaign>.<shard>}:stock   list of the packets left: ranges "<first>-<last>" of packets, and a '.' at its end
--   3  rr:{<campaign>.<shard>}:wins    hash: the players' wins, see grab.lua
--   4  rr:{<campaign>.<shard>}:taps    hash: the players' taps, see grab.lua
--   5  rr:{<campaign>.<shard>}:outbox  stream: entries to be paid
--   6  rr:{<campaign>.<shard>}:lent    hash: stock in flight to other shards, see lend.lua
--   7  rr:{<campaign>.<shard>}:borrowed  hash: moves from other shards, see borrow.lua
-- ARGV
--   1  deadline of this call on this server's clock, Unix ms
--   2  the campaign's revision
--   3  the shard's packets, "<first>-<last>"; empty: none
--   4  their number
--   5, 6, 7, 8, ...  field and value, field and value: the state's settings while there is no rain
-- RETURNS
--    1  done
--    0  the shard has been opened before
--   -1  the shard is closed
--   error NOSTATE  the shard is being restored, and is not opened meanwhile
--   error LATE     the call comes too late: the shard may have been opened, played and lost since it was sent
-- ATOMICITY
--   One step that leaves an existing shard unchanged, so it may be repeated, from several nodes. The first write is one that a
--   full Redis refuses. Every key of the shard exists from then on, if only with an empty mark. While a slot migrates, a Cluster
--   refuses commands on several keys of which some do not exist.

local state, stock, wins, taps, outbox, lent, borrowed = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local status = redis.call('HGET', state, 'status')
if status == 'closed' then
  return -1
end
if status == 'rebuilding' then
  return redis.error_reply('NOSTATE the shard is being restored')
end
if status then
  return 0
end
local clock = redis.call('TIME')
if clock[1] * 1000 + math.floor(clock[2] / 1000) >= tonumber(ARGV[1]) then
  return redis.error_reply('LATE the stocking took too long; it has to be begun anew')
end

redis.call('HSET', state, 'status', 'open', 'rev', ARGV[2], 'left', ARGV[4], 'won', '0', 'last', '0-1', 'moves', '0', 'epoch', '0',
  'base_wave', '', 'base', '0', unpack(ARGV, 5))
redis.call('UNLINK', stock, wins, taps, outbox, lent, borrowed)
if ARGV[3] ~= '' then
  redis.call('RPUSH', stock, ARGV[3])
end
redis.call('RPUSH', stock, '.')
redis.call('HSET', wins, '', '')
redis.call('HSET', taps, '', '')
redis.call('HSET', lent, '', '')
redis.call('HSET', borrowed, '', '')
redis.call('XADD', outbox, '0-1', 'barrier', '')
redis.call('XDEL', outbox, '0-1') -- an empty stream stays
return 1
