// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"maps"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/testtargets/observed"
)

// Requests of a shop on Fastify: one of /pay owns what those of /order wait for.
var (
	fastifyOwner    = map[string]int{"/pay": 1}
	fastifyRequests = map[string]int{"/order": 40, "/price": 30, "/report": 20, "/subscribe": 10}
)

// Each request has one chain; that of fetch within Node has its own, without the function that calls it.
var fastifyChains = map[string]int{
	"askBank:30 pay:36 (anonymous):71":         1,
	"subscribe:59 (anonymous):71":              10,
	"report:55 (anonymous):71":                 20,
	"quote:47 price:51 (anonymous):71":         30,
	"lock:17 order:42 (anonymous):71":          40,
	"fetch, which ends in mainFetch of undici": 30,
}

func TestHungRequestsOfFastify(t *testing.T) {
	testtargets.OnlyInAll(t, "a server of asynchronous functions")
	modules := filepath.Join(testtargets.WebServers(t, "fastify/node_modules/fastify/package.json"), "fastify")
	ran := 0
	for version, exe := range nodes(t) {
		out, err := bounded.Output(exec.Command(exe, "-p", "process.versions.node"))
		major, _, _ := strings.Cut(string(out), ".")
		if n, bad := strconv.Atoi(major); err != nil || bad != nil {
			t.Fatalf("the release of %s: %q, %v", exe, out, err)
		} else if n < 20 { // Fastify 5 needs it
			continue
		}
		ran++
		t.Run(version, func(t *testing.T) {
			upstream := testtargets.ListenSilently(t)
			cmd, address := observed.Launch(t, exe, "testdata/fastify.js", modules, upstream.Address)
			testtargets.AskAll(t, address, fastifyOwner)
			testtargets.AskAll(t, address, fastifyRequests)
			testtargets.Eventually(t, "the upstream has all requests", func() bool { return upstream.Requests() == 31 })
			var p *stacks.Process
			testtargets.Eventually(t, "no thread runs", func() bool {
				p = observed.Dump(t, cmd.Process.Pid, dump.Options{Awaits: true})
				return p.NothingRuns() && p.Awaits != nil
			})
			got := awaitsOf(p)
			for chain, n := range got {
				if strings.Contains(chain, "mainFetch:") {
					delete(got, chain)
					got["fetch, which ends in mainFetch of undici"] += n
				}
			}
			if !maps.Equal(got, fastifyChains) || p.Awaits.Unproven+p.Awaits.Unread+p.Awaits.More != 0 || p.Awaits.Cut {
				t.Errorf("%v, want %v; %+v", got, fastifyChains, *p.Awaits)
			}
			dumped := observed.TextOf(t, p, ", 131 pending awaits, 40 of them in lock at fastify.js:17")
			want := " are suspended; 101 client connections are open and nothing runs\n"
			if !strings.Contains(dumped, want) { // connections without an answer for a second or longer can follow
				t.Errorf("no line …%q:\n%s", want, dumped)
			}
		})
	}
	testtargets.Need(t, ran > 0, "Node 20 or later", "sudo scripts/setup-nodes.sh")
}
