// SPDX-License-Identifier: Apache-2.0

package testtargets

// Expect is the required contents of a profile. Names match as shown or by their last part ([Matches]).
type Expect struct {
	Hot []string // on stacks with CPU time
	// Chains occur with CPU time, innermost first; inlined and library functions may lie between.
	Chains        [][]string
	Sleepers      []Sleeper // asleep from start to end
	CompleteFloor float64   // least share of complete samples, 0 to 1
	Tree          bool      // children do the work and must be recorded
	Stripped      bool      // Target.Unstripped has symbols, at the same addresses
	Tableless     bool      // it has code without unwind tables, whose instructions do not always show the caller
}

// Sleeper is a thread that sleeps in one call.
type Sleeper struct {
	Thread string
	Waits  []string // possible system calls: C libraries differ
	Chain  []string // innermost first
}

var nativeSleepers = []Sleeper{
	{"queue", []string{"futex"}, []string{"wait_for_work", "serve_queue"}},
	{"nap", []string{"clock_nanosleep", "nanosleep"}, []string{"sleep_long", "serve_sleep"}},
	{"poll", []string{"poll", "ppoll"}, []string{"poll_forever", "serve_poll"}},
	{"read", []string{"read"}, []string{"read_pipe", "serve_read"}},
	{"epoll", []string{"epoll_wait", "epoll_pwait"}, []string{"epoll_forever", "serve_epoll"}},
}

var native = Expect{
	Hot: []string{"burn_60", "burn_30", "burn_10", "compare_numbers", "pace_work"},
	Chains: [][]string{
		{"burn_60", "with_saved_registers", "run_load", "main"},
		{"burn_30", "with_big_frame", "run_load", "main"},
		{"burn_10", "with_variable_array", "run_load", "main"},
		{"compare_numbers", "sort_numbers", "run_load", "main"},
		{"pace_work", "pace", "serve_pace"},
	},
	Sleepers:      nativeSleepers,
	CompleteFloor: 0.995,
}

func (e Expect) tableless() Expect {
	e.Tableless = true
	return e
}

func (e Expect) stripped() Expect {
	e.Stripped = true
	return e
}

var inlined = Expect{
	Hot: []string{"load::Heavy::run", "load::by_remainder", "load::count_words", "load::parse_all"},
	Chains: [][]string{
		{"load::units<60>", "load::Heavy::run", "load::Work::step", "load::run_load", "main"},
		{"load::by_remainder", "std::sort", "load::sort_numbers", "load::run_load", "main"},
		{"load::parse_one", "load::parse_all", "load::run_load", "main"},
	},
	Sleepers:      []Sleeper{{"queue", []string{"futex"}, []string{"load::Queue::wait_for_work"}}},
	CompleteFloor: 0.995,
}

var rust = Expect{
	Hot: []string{"burn_60", "sort_numbers", "count_words"},
	Chains: [][]string{
		{"units", "burn_60", "run_load", "main"},
		{"sort_numbers", "run_load", "main"},
	},
	Sleepers:      []Sleeper{{"queue", []string{"futex"}, []string{"wait_for_work"}}},
	CompleteFloor: 0.995,
}

var goProgram = Expect{
	Hot: []string{"main.burn60", "main.sortNumbers", "main.countWords"},
	Chains: [][]string{
		{"main.burn60", "main.runLoad"},
		{"main.sortNumbers", "main.runLoad"},
	},
	CompleteFloor: 0.995,
}

var python = Expect{
	Hot:           []string{"_PyEval_EvalFrameDefault", "deflate", "inflate"},
	Chains:        [][]string{{"deflate", "_PyEval_EvalFrameDefault"}},
	CompleteFloor: 0.995,
}

var node = Expect{
	Hot:           []string{"burnSixty", "burnThirty"},
	Chains:        [][]string{{"burnSixty", "runLoad"}},
	CompleteFloor: 0.95,
	Tableless:     true,
}

var java = Expect{
	Hot:           []string{"burnSixty", "burnThirty"},
	CompleteFloor: 0.95,
	Tableless:     true,
}

var mixed = Expect{CompleteFloor: 0.995}

var redis = Expect{
	Hot:           []string{"aeMain", "processCommand", "call"},
	Chains:        [][]string{{"call", "processCommand", "aeMain", "main"}},
	CompleteFloor: 0.995,
}

var nginx = Expect{
	Hot: []string{"ngx_process_events_and_timers", "ngx_http_core_run_phases", "deflate"},
	Chains: [][]string{{"ngx_http_core_run_phases", "ngx_process_events_and_timers", "ngx_master_process_cycle",
		"main"}},
	CompleteFloor: 0.995,
	Tree:          true,
}

var postgres = Expect{
	Hot:           []string{"PostgresMain", "PortalRun", "standard_ExecutorRun"},
	Chains:        [][]string{{"standard_ExecutorRun", "PortalRun", "PostgresMain", "PostmasterMain", "main"}},
	CompleteFloor: 0.995,
	Tree:          true,
}
