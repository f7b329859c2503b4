-- stream_top: returns how far a stream is.
--
-- KEYS  1 the stream
--
-- Returns {the last id that it was given}: 0-0 of one that is not there.
return {top(KEYS[1])}
