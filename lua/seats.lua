-- seats.lua: keeps the seats of players who are on a node, or gives up those of players who have gone.
--
-- KEYS
--   1  rr:{<campaign>.room}:seats   sorted set: players who have a seat → until when it is theirs, Unix ms
--   2  rr:{<campaign>.room}:nodes   hash: a player who has a seat → the node where they are, '*' for several
-- ARGV
--   1  'keep' for players who are there; 'lost' for those whose line has gone, and who may come back; 'left' for those
--      who have said that they go
--   2  the node
--   3  how long the seat is theirs from now on, in ms; of no meaning with 'left'
--   4  how long the keys are kept after the last call, in ms
--   5, 6, 7, …  the players
-- RETURNS
--   how many seats there are that Redis did not know: it has forgotten them, or the node has not said for too long that
--   they are taken
-- ATOMICITY
--   One step. Run again it changes nothing but the times. A seat of a player who is on several nodes is not given up by one
--   of them: it ends by itself. The first write is one that a full Redis refuses; giving up may be refused with it, and
--   then the seats end by themselves.

local seats, nodes, what, node = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local till = string.format('%.0f', now + tonumber(ARGV[3]))

local unknown = 0
for i = 5, #ARGV do
  local user = ARGV[i]
  if what == 'keep' then
    unknown = unknown + redis.call('ZADD', seats, till, user)
    redis.call('HSETNX', nodes, user, node)
  elseif redis.call('HGET', nodes, user) == node then
    if what == 'lost' then
      redis.call('ZADD', seats, 'XX', till, user)
    else
      redis.call('ZREM', seats, user)
    end
    redis.call('HDEL', nodes, user)
  end
end
redis.call('PEXPIRE', seats, ARGV[4])
redis.call('PEXPIRE', nodes, ARGV[4])
return unknown
