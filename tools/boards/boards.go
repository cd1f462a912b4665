package main

import "fmt"

// quantiles are the queries for the median and the slowest hundredth of a histogram in seconds.
func quantiles(metric string) []query {
	var all []query
	for _, q := range []string{"0.5", "0.99"} {
		all = append(all, query{
			fmt.Sprintf("histogram_quantile(%s, sum by (le) (rate(%s_bucket[$__rate_interval])))", q, metric),
			"p" + q[2:]})
	}
	return all
}

func one(expr string) []query { return []query{{expr: expr}} }

// each queries one series for each value of a label.
func each(expr, label string) []query { return []query{{expr, "{{" + label + "}}"}} }

var boards = []board{
	{name: "evening", title: "redrain: the evening", rows: []row{
		{"Now", []panel{
			{title: "Players", single: true, queries: one("sum(redrain_connections)")},
			{title: "Taps per second", single: true, queries: one("sum(rate(redrain_taps_total[1m]))")},
			{title: "Wins per second", single: true, queries: one(`sum(rate(redrain_taps_total{outcome="won"}[1m]))`)},
			{title: "Oldest unpaid win", unit: "s", single: true, queries: one("max(redrain_oldest_unpaid_seconds)")},
			{title: "Waiting players", single: true, queries: one("max(redrain_waiting)")},
			{title: "Open alarms", single: true, bad: true,
				queries: one("sum(max by (code) (redrain_alarms)) or vector(0)")},
		}},
		{"Players", []panel{
			{title: "Connections", queries: each("sum by (instance) (redrain_connections)", "instance")},
			{title: "Taps by result", unit: "ops",
				queries: each("sum by (outcome) (rate(redrain_taps_total[$__rate_interval]))", "outcome")},
			{title: "Tap to result", unit: "s", queries: quantiles("redrain_tap_seconds")},
			{title: "Refused arrivals", unit: "ops", queries: []query{
				{"sum(rate(redrain_full_refusals_total[$__rate_interval]))", "full"},
				{"sum(rate(redrain_arrivals_refused_total[$__rate_interval]))", "too many at once"},
				{"sum(rate(redrain_hello_refusals_total[$__rate_interval]))", "bad hello"},
			}},
			{title: "Frames", unit: "ops", queries: []query{
				{"sum(rate(redrain_fanout_frames_total[$__rate_interval]))", "sent"},
				{"sum(rate(redrain_fanout_dropped_total[$__rate_interval]))", "dropped"},
			}},
			{title: "Slow players disconnected", unit: "ops",
				queries: one("sum(rate(redrain_slow_disconnects_total[$__rate_interval]))")},
		}},
		{"Back ends", []panel{
			{title: "Nodes that reach a back end", queries: each("sum by (backend) (redrain_backend_up)", "backend")},
			{title: "Script", unit: "s", queries: quantiles("redrain_grab_script_seconds")},
			{title: "Confirmation", unit: "s", queries: quantiles("redrain_grab_confirm_seconds")},
			{title: "Shards without an answer", queries: one("max(redrain_unknown_shards)")},
			{title: "Packets moved between shards", unit: "ops", queries: []query{
				{"sum(rate(redrain_moved_packets_total[$__rate_interval]))", "moved"},
				{"sum(rate(redrain_move_failures_total[$__rate_interval]))", "failures"},
			}},
			{title: "Win to ledger", unit: "s", queries: quantiles("redrain_settle_seconds")},
		}},
	}},
	{name: "node", title: "redrain: a node", byNode: true, rows: []row{
		{"Players", []panel{
			{title: "Connections", queries: one(`redrain_connections{instance="$node"}`)},
			{title: "Open sockets", queries: each(`redrain_open_sockets{instance="$node"}`, "kind")},
			{title: "Taps per call of the script", queries: []query{{
				`rate(redrain_grab_batch_size_sum{instance="$node"}[$__rate_interval]) / ` +
					`rate(redrain_grab_batch_size_count{instance="$node"}[$__rate_interval])`, "taps"}}},
			{title: "Sockets refused", unit: "ops",
				queries: each(`rate(redrain_sockets_refused_total{instance="$node"}[$__rate_interval])`, "reason")},
			{title: "Sockets cut", unit: "ops",
				queries: each(`rate(redrain_sockets_cut_total{instance="$node"}[$__rate_interval])`, "reason")},
			{title: "Back ends", queries: each(`redrain_backend_up{instance="$node"}`, "backend")},
		}},
		{"Process", []panel{
			{title: "Processors", unit: "short",
				queries: one(`rate(process_cpu_seconds_total{instance="$node"}[$__rate_interval])`)},
			{title: "Memory", unit: "bytes", queries: []query{
				{`process_resident_memory_bytes{instance="$node"}`, "resident"},
				{`go_memstats_heap_inuse_bytes{instance="$node"}`, "heap"},
			}},
			{title: "Goroutines", queries: one(`go_goroutines{instance="$node"}`)},
			{title: "Descriptors", queries: []query{
				{`process_open_fds{instance="$node"}`, "open"}, {`process_max_fds{instance="$node"}`, "limit"},
			}},
			{title: "Work that fails", unit: "ops",
				queries: each(`rate(redrain_failed_rounds_total{instance="$node"}[$__rate_interval])`, "part")},
			{title: "Caught faults", queries: each(`increase(redrain_panics_total{instance="$node"}[1h])`, "part")},
		}},
	}},
	{name: "money", title: "redrain: the money", rows: []row{
		{"Now", []panel{
			{title: "Difference", single: true, bad: true, queries: one("max(abs(redrain_reconcile_difference))")},
			{title: "Wrong rows", single: true, bad: true, queries: one("max(redrain_reconcile_findings)")},
			{title: "Dead letters", single: true, bad: true, queries: one("max(redrain_dead_letters)")},
			{title: "Oldest unpaid win", unit: "s", single: true, queries: one("max(redrain_oldest_unpaid_seconds)")},
			{title: "Pending withdrawals", single: true, queries: one("max(redrain_withdrawals_pending)")},
			{title: "Proved", unit: "dateTimeFromNow", single: true,
				queries: one("1000 * max(redrain_reconcile_everything_proved_timestamp_seconds)")},
		}},
		{"Settlement", []panel{
			{title: "Settled", unit: "ops", queries: one("sum(rate(redrain_settled_total[$__rate_interval]))")},
			{title: "Entries in the outbox", queries: one("max(redrain_outbox_pending)")},
			{title: "Win to ledger", unit: "s", queries: quantiles("redrain_settle_seconds")},
			{title: "Failures", unit: "ops", queries: []query{
				{"sum(rate(redrain_payout_failures_total[$__rate_interval]))", "refused or unreachable"},
				{"sum(rate(redrain_publish_left_total[$__rate_interval]))", "left to the sweeper"},
			}},
			{title: "Published by the sweeper", unit: "ops",
				queries: one("sum(rate(redrain_relayed_total[$__rate_interval]))")},
			{title: "Forged", queries: one("sum(increase(redrain_forged_total[10m]))")},
		}},
		{"Withdrawals", []panel{
			{title: "By outcome", unit: "ops",
				queries: each("sum by (outcome) (rate(redrain_withdrawals_total[$__rate_interval]))", "outcome")},
			{title: "Pending", queries: one("max(redrain_withdrawals_pending)")},
			{title: "The provider's answer", unit: "s", queries: quantiles("redrain_provider_seconds")},
		}},
	}},
}
