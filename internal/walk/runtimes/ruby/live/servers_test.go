// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"maps"
	"os/exec"
	"strings"
	"testing"

	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/testtargets/observed"
)

// Requests of a shop on the HTTP server of Async, which Falcon runs. One of /pay holds what those of /order wait for.
var asyncRequests = map[string]int{"/order": 40, "/price": 30, "/report": 20}

func TestHungRequestsOfAsyncsServer(t *testing.T) {
	testtargets.OnlyInAll(t, "a server of fibers")
	ruby := testtargets.NeedProgram(t, "ruby")
	testtargets.Need(t, bounded.Run(exec.Command(ruby, "-e", "require 'async/http'")) == nil, "async-http of Ruby",
		testtargets.SetUp)
	version, err := bounded.AllOutput(exec.Command(ruby, "-e", "require 'async'; print Async::VERSION"))
	if err != nil {
		t.Fatalf("%v: %s", err, version)
	}
	testtargets.Need(t, strings.HasPrefix(string(version), "1."), "async 1 of Ruby, not "+string(version),
		"the package ruby-async of Debian 12")
	upstream := testtargets.ListenSilently(t)
	cmd, address := observed.Launch(t, ruby, "testdata/shop.rb", upstream.Address)
	testtargets.AskAll(t, address, map[string]int{"/pay": 1})
	testtargets.AskAll(t, address, asyncRequests)
	testtargets.Eventually(t, "the upstream has all requests", func() bool { return upstream.Requests() == 31 })
	var truth [][]string
	testtargets.Read(t, address, "/stacks", &truth)
	testtargets.Asleep(t, cmd.Process.Pid)
	p := observed.Dump(t, cmd.Process.Pid, dump.Options{})
	known, got := map[string]int{}, map[string]int{}
	for _, stack := range truth {
		if len(stack) > 0 && stack[len(stack)-1] != "<main>" { // the thread's first one, which runs the others
			known[strings.Join(stack, "|")]++
		}
	}
	const accepts = "|accept_each|block in accept|block in bind|block in make_fiber"
	known["yield|yield|wait_for|wait_readable|async_send|accept"+accepts] = 1
	delete(known, "resume|run|async|accept"+accepts) // it ran the fiber that asked
	for task := range stacks.Each(p.Tasks) {
		var stack []string
		for f := range stacks.Each(task.Frames) {
			stack = append(stack, f.Function)
		}
		got[strings.Join(stack, "|")] += task.Count
	}
	if !maps.Equal(got, known) {
		t.Errorf("%v, want %v", got, known)
	}
	observed.TextOf(t, p, ", 93 fibers, 40 of them in order at shop.rb:29")
}
