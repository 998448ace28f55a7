#!lua name=clearhold

-- The owner of a log, and the writes that its owner alone may make. owner.py loads this library and calls it.
--
-- Owner  a hash: epoch, node, boot, address; beat, a word that each renewal changes; seen, its time by this server's
--        clock in milliseconds
-- Epoch  a key that each change of the epoch writes: entries are appended by transactions that watch it (fenced.py)
-- FENCED another owner has taken the log. UNOWNED: this server does not know of our taking it, as after a failover.
--
-- Services of two versions may call one library: a change must keep the arguments and answers of each function.

local LIVE_MS = 5000

local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- The refusal of a caller with this epoch; nil for the owner.
local function refusal(owner, epoch)
  local current = redis.call('HGET', owner, 'epoch')
  if current == epoch then
    return nil
  end
  if not current or tonumber(current) < tonumber(epoch) then
    return redis.error_reply('UNOWNED The log has no owner of epoch ' .. epoch .. '.')
  end
  local other = redis.call('HMGET', owner, 'node', 'address')
  return redis.error_reply('FENCED ' .. current .. ' by ' .. (other[1] or '?') .. ' at ' .. (other[2] or '?'))
end

-- Keys: owner, the watched epoch. Arguments: node, boot, address, first beat; 1 to take it from a live owner; a beat that was watched for
-- as long as a live owner keeps one, or ''. Answers {epoch}, or of the live owner {0, node, address, silent ms, beat}.
local function take(keys, args)
  local owner, now = keys[1], now_ms()
  local other = redis.call('HMGET', owner, 'epoch', 'node', 'boot', 'address', 'beat', 'seen')
  local epoch = tonumber(other[1] or '0')
  local silent = now - tonumber(other[6] or '0')
  local is_own = other[2] == args[1] and other[3] == args[2]
  if epoch > 0 and silent < LIVE_MS and not is_own and args[5] ~= '1' and other[5] ~= args[6] then
    return {0, other[2], other[4], silent, other[5]}
  end
  epoch = math.max(epoch + 1, math.floor(now / 1000))
  redis.call('HSET', owner, 'epoch', string.format('%.0f', epoch), 'node', args[1], 'boot', args[2],
    'address', args[3], 'beat', args[4], 'seen', string.format('%.0f', now))
  redis.call('SET', keys[2], string.format('%.0f', epoch))
  return {epoch}
end

-- Keys: owner. Arguments: epoch, the new beat, and those that this owner may have written last.
local function renew(keys, args)
  local refused = refusal(keys[1], args[1])
  if refused then
    return refused
  end
  local beat = redis.call('HGET', keys[1], 'beat')
  for place = 2, #args do
    if args[place] == beat then
      redis.call('HSET', keys[1], 'beat', args[2], 'seen', string.format('%.0f', now_ms()))
      return 1
    end
  end
  return redis.error_reply('FENCED ' .. args[1] .. ' by a copy of this process')
end

-- Keys: owner. Arguments: epoch. The next owner need not wait.
local function release(keys, args)
  local refused = refusal(keys[1], args[1])
  if refused then
    return refused
  end
  redis.call('HSET', keys[1], 'seen', '0')
  return 1
end

-- The node of a member that needs entries of a shard up to an offset; nil without one. A number of this language is
-- exact to 2^53 only, so that offsets are compared as texts of 19 digits.
local function needing(members, shard, upto)
  local wanted, place = string.rep('0', 19 - #upto) .. upto, tonumber(shard) + 1
  local fields = redis.call('HGETALL', members)
  for at = 1, #fields, 2 do
    local report = cjson.decode(string.sub(fields[at + 1], string.find(fields[at + 1], ' ', 1, true) + 1))
    if report.covered[place] < wanted then
      return fields[at]
    end
  end
end

-- Keys: owner, the hash of trimmed offsets, a stream, the members. Arguments: epoch, shard, offset, the least id to
-- keep. Answers the number of dropped entries.
local function trim(keys, args)
  local refused = refusal(keys[1], args[1])
  if refused then
    return refused
  end
  local needed_by = needing(keys[4], args[2], args[3])
  if needed_by then
    return redis.error_reply('NEEDED ' .. needed_by .. ' needs entries of shard ' .. args[2])
  end
  redis.call('HSET', keys[2], args[2], args[3])
  return redis.call('XTRIM', keys[3], 'MINID', args[4])
end

-- Keys: members. Arguments: node, its report. It is stored behind the time of this server's clock in milliseconds.
local function member(keys, args)
  redis.call('HSET', keys[1], args[1], string.format('%.0f', now_ms()) .. ' ' .. args[2])
  return 1
end

-- Keys: owner, members. Arguments: epoch, node, the time of its report. Answers 1 unless it has reported again.
local function drop_member(keys, args)
  local refused = refusal(keys[1], args[1])
  if refused then
    return refused
  end
  local value = redis.call('HGET', keys[2], args[2])
  if not value or string.sub(value, 1, #args[3] + 1) ~= args[3] .. ' ' then
    return 0
  end
  return redis.call('HDEL', keys[2], args[2])
end

-- The number of the last entry of a stream whose ids are N-0, and whose newest entry is never trimmed; 0 without one.
local function last_number(stream)
  local entry = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
  return entry and tonumber(string.match(entry[1], '^(%d+)-')) or 0
end

-- Keys: owner, the stream of links. Arguments: epoch, the number of the last entry that the caller has read, entries.
-- Answers the number of the last entry before these; unless it is the caller's, or that is '', nothing is appended.
local function append_links(keys, args)
  local refused = refusal(keys[1], args[1])
  if refused then
    return refused
  end
  local last = last_number(keys[2])
  if args[2] == '' or last == tonumber(args[2]) then
    for place = 3, #args do
      redis.call('XADD', keys[2], string.format('%.0f-0', last + place - 2), 'l', args[place])
    end
  end
  return last
end

-- Keys: owner, the stream of links, its base. Arguments: epoch, the number up to which entries are dropped, fields and
-- values of the base.
local function trim_links(keys, args)
  local refused = refusal(keys[1], args[1])
  if refused then
    return refused
  end
  for place = 3, #args, 2 do
    redis.call('HSET', keys[3], args[place], args[place + 1])
  end
  redis.call('HSET', keys[3], 'upto', args[2])
  return redis.call('XTRIM', keys[2], 'MINID', string.format('%.0f-0', tonumber(args[2]) + 1))
end

-- Keys: owner, another key. Arguments: epoch, the new value of that key.
local function put(keys, args)
  local refused = refusal(keys[1], args[1])
  if refused then
    return refused
  end
  redis.call('SET', keys[2], args[2])
  return 1
end

-- Keys: owner, the epoch. Arguments: epoch, and of the next owner node, boot and address. The next owner may take the log
-- at once, any other one after a silence. This epoch has ended.
local function hand_over(keys, args)
  local refused = refusal(keys[1], args[1])
  if refused then
    return refused
  end
  local epoch = string.format('%.0f', tonumber(args[1]) + 1)
  redis.call('HSET', keys[1], 'epoch', epoch, 'node', args[2], 'boot', args[3], 'address', args[4], 'beat', 'handed over',
    'seen', string.format('%.0f', now_ms()))
  redis.call('SET', keys[2], epoch)
  return 1
end

redis.register_function('clearhold_append_links', append_links)
redis.register_function('clearhold_put', put)

-- A server at its memory limit refuses entries, and still has an owner that may trim it.
local ALWAYS = {'allow-oom'}
redis.register_function{function_name = 'clearhold_take', callback = take, flags = ALWAYS}
redis.register_function{function_name = 'clearhold_renew', callback = renew, flags = ALWAYS}
redis.register_function{function_name = 'clearhold_release', callback = release, flags = ALWAYS}
redis.register_function{function_name = 'clearhold_hand_over', callback = hand_over, flags = ALWAYS}
redis.register_function{function_name = 'clearhold_trim', callback = trim, flags = ALWAYS}
redis.register_function{function_name = 'clearhold_trim_links', callback = trim_links, flags = ALWAYS}
redis.register_function{function_name = 'clearhold_member', callback = member, flags = ALWAYS}
redis.register_function{function_name = 'clearhold_drop_member', callback = drop_member, flags = ALWAYS}
