-- Prints one line of JSON when a run of wrk is over.

-- errors.status counts responses from 400 on. Others that are not 200 would show when the rows are counted; looking
-- at each answer here would cost more than the server spends on it.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"durationUs":%d,"p50Us":%d,"p99Us":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
