-- admit.lua: lets a player into a campaign's room, or tells their place in the waiting room.
--
-- KEYS
--   1  rr:{<campaign>.room}:seats   sorted set: players who have a seat → until when it is theirs, Unix ms
--   2  rr:{<campaign>.room}:queue   sorted set: players who wait → their number, in the order in which they came
--   3  rr:{<campaign>.room}:asked   sorted set: players who wait → until when their place is kept, Unix ms
--   4  rr:{<campaign>.room}:nodes   hash: a player who has a seat → the node where they are, '*' for several
--   5  rr:{<campaign>.room}:door    hash: next (the newest number); tokens, at, last; from, before, since, now: see below
-- ARGV
--   1  how many may be in the room; 0: no limit
--   2  how many are let in within a second; 0: all at once
--   3  the player
--   4  the node on which the player comes in now; '' for one who only asks
--   5  how long a seat is kept from now on, in ms: until the player comes in, or until the node says again that they are there
--   6  a factor for the time after which to ask again, which spreads those who ask
--   7  how long the keys are kept after the last call, in ms
-- RETURNS
--   an array. 1, then 1 for a player who has just been let in and 0 for one who has a seat already; or 0, then the player's
--   place from 1, the time after which to ask again in ms, and how long it will take until they are let in, in ms, as far
--   as that can be told from those before them; -1 where it cannot
-- ATOMICITY
--   One step, so there are never more seats than ARGV[1]. Run again it changes nothing for who has a seat or a place. The
--   first write is one that a full Redis refuses.

local seats, queue, asked, nodes, door = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local capacity, rate, user, node = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local function ms(n) return string.format('%.0f', n) end

-- tokens are how many may come in, as counted at the time "at". What flows in within two seconds may come in at once: who may is there to ask only about once a second.
local d = redis.call('HMGET', door, 'tokens', 'at', 'from', 'before', 'since', 'now', 'last')
local most = math.max(1, 2 * rate)
local tokens = math.min(most, tonumber(d[1] or most) + math.max(0, now - tonumber(d[2] or now)) * rate / 1000)
redis.call('HSET', door, 'tokens', string.format('%.3f', tokens), 'at', ms(now))

-- Seats and places that nobody keeps any more go, a hundred with each call.
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', seats, '-inf', ms(now), 'LIMIT', 0, 100)) do
  redis.call('ZREM', seats, gone)
  redis.call('HDEL', nodes, gone)
end
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', asked, '-inf', ms(now), 'LIMIT', 0, 100)) do
  redis.call('ZREM', queue, gone)
  redis.call('ZREM', asked, gone)
end

local kept = redis.call('ZSCORE', seats, user)
local seated = kept and tonumber(kept) > now
if not seated then
  if not redis.call('ZSCORE', queue, user) then
    redis.call('ZADD', queue, redis.call('HINCRBY', door, 'next', 1), user)
  end
  local before = redis.call('ZRANK', queue, user)
  local free = math.huge
  if capacity > 0 then
    free = capacity - redis.call('ZCOUNT', seats, '(' .. ms(now), '+inf')
  end
  -- The first ones have the way in. Where none of them has come for two seconds they may have gone, though their places are
  -- kept for a while: then some more have it, those of one more second with each second, ten at most.
  local idle = math.max(0, now - tonumber(d[7] or now) - 2000)
  local flow = rate == 0 or tokens >= 1 and before < most + math.min(10, math.floor(idle * rate / 1000))

  -- Who came in lately is counted in two spans of ten seconds or more: from..since, and since then.
  local from, earlier = tonumber(d[3] or now), tonumber(d[4] or 0)
  local since, lately = tonumber(d[5] or now), tonumber(d[6] or 0)
  if before >= free or not flow then
    local speed = (earlier + lately) / math.max(1000, now - from) -- players per ms
    if capacity == 0 then
      speed = rate / 1000
    end
    local wait = -1
    local again = 1000 + before * 10
    if speed > 0 then
      wait = (before + 1) / speed
      again = math.min(again, wait / 2)
    end
    again = math.max(1000, math.min(60000, again)) * tonumber(ARGV[6])
    redis.call('ZADD', asked, ms(now + again * 1.5 + 10000), user)
    redis.call('PEXPIRE', queue, ARGV[7])
    redis.call('PEXPIRE', asked, ARGV[7])
    redis.call('PEXPIRE', door, ARGV[7])
    return { 0, before + 1, math.floor(again), math.floor(wait) }
  end

  redis.call('ZREM', queue, user)
  redis.call('ZREM', asked, user)
  if now - since >= 10000 then
    from, earlier, since, lately = since, lately, now, 0
  end
  redis.call('HSET', door, 'tokens', string.format('%.3f', tokens - 1), 'from', ms(from), 'before', ms(earlier),
    'since', ms(since), 'now', ms(lately + 1))
  if before < most then
    redis.call('HSET', door, 'last', ms(now))
  end
  redis.call('HDEL', nodes, user)
end

-- Asking does not keep a seat: only who is there keeps one.
if node ~= '' or not seated then
  redis.call('ZADD', seats, ms(now + tonumber(ARGV[5])), user)
end
if node ~= '' then
  local where = redis.call('HGET', nodes, user)
  redis.call('HSET', nodes, user, (not where or where == node) and node or '*')
end
redis.call('PEXPIRE', seats, ARGV[7])
redis.call('PEXPIRE', nodes, ARGV[7])
redis.call('PEXPIRE', door, ARGV[7])
return { 1, seated and 0 or 1 }
