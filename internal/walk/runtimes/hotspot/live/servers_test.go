// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/text"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/waits"
)

// The requests of a shop that hangs. One of each of the first two owns what others wait for.
var (
	shopOwners  = map[string]int{"/pay": 1, "/audit": 1}
	shopWaiters = map[string]int{"/order": 40, "/price": 30, "/report": 20, "/book": 10}
)

// startShop starts a server with hung requests.
func startShop(t *testing.T, java, name string) (pid int) {
	t.Helper()
	jars := filepath.Join(testtargets.WebServers(t, name+"/*.jar"), name, "*")
	class := shops[name].class
	classes := t.TempDir()
	out, err := bounded.AllOutput(exec.Command(tool(t, "javac"), "--release", "21", "-parameters", "-cp", jars, "-d",
		classes, "testdata/servers/Shop.java", "testdata/servers/"+class+".java"))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	upstream := testtargets.ListenSilently(t)
	cmd, address := observed.Launch(t, java, "-Xmx300m", "-cp", classes+":"+jars, "shop."+class, upstream.Address)
	testtargets.AskAll(t, address, shopOwners)
	testtargets.AskAll(t, address, shopWaiters)
	testtargets.Eventually(t, "the upstream has all requests", func() bool {
		return upstream.Requests() == shopOwners["/pay"]+shopWaiters["/price"]
	})
	return cmd.Process.Pid
}

// requestOf returns the path of a task's request, by the shop's innermost function, or "" if it is none.
func requestOf(task *stacks.Task) string {
	for f := range stacks.Each(task.Frames) {
		if name, is := strings.CutPrefix(f.Function, "shop.Shop."); is {
			return "/" + name
		}
	}
	return ""
}

func requestsOf(p *stacks.Process) map[string]int {
	counts := map[string]int{}
	for task := range stacks.Each(p.Tasks) {
		if path := requestOf(task); path != "" {
			counts[path] += task.Count
		}
	}
	return counts
}

func TestHungRequestsOfServersOnVirtualThreads(t *testing.T) {
	testtargets.OnlyInAll(t, "servers on virtual threads")
	ran := 0
	for release, java := range javas(t) {
		if release < "24" { // there a thread that waits keeps its carrier with its monitor
			continue
		}
		ran++
		for name := range shops {
			t.Run(release+" "+name, func(t *testing.T) {
				pid := startShop(t, java, name)
				want := maps.Clone(shopOwners)
				maps.Copy(want, shopWaiters)
				var p *stacks.Process
				testtargets.Eventually(t, "all requests wait", func() bool {
					p = observed.Dump(t, pid, dump.Options{})
					return p.VirtualThreads != nil && p.VirtualThreads.Mounted+p.VirtualThreads.LeftOut() == 0 &&
						maps.Equal(requestsOf(p), want)
				})
				if got, want := stacksOf(p), stacksOfJVM(t, pid); !maps.Equal(got, want) {
					t.Errorf("%d and %d different stacks\n%v\nwant\n%v", len(got), len(want), got, want)
				}
				checkShop(t, name, p, locksOf(t, pid))
			})
		}
	}
	testtargets.Need(t, ran > 0, "a JVM of JDK 24 or later", "sudo scripts/setup-jdks.sh")
}

// shops are the servers, each with the wait of its client: at a socket, or for a future. What can wake a request is not
// known for /book, and for /pay and /price where they wait for a future.
var shops = map[string]struct {
	class   string
	client  waits.Kind
	unknown int
}{
	"helidon": {"HelidonShop", waits.Descriptor, 10},
	"spring":  {"SpringShop", waits.Park, 41},
}

func checkShop(t *testing.T, name string, p *stacks.Process, l *locks.Locks) {
	t.Helper()
	client, unknown, pay := shops[name].client, shops[name].unknown, uint64(0)
	kinds := map[string]waits.Kind{"/pay": client, "/audit": waits.Sleep, "/order": waits.Park, "/price": client,
		"/report": waits.Sleep, "/book": waits.Monitor}
	for task := range stacks.Each(p.Tasks) {
		path := requestOf(task)
		if path == "" {
			continue
		}
		if task.WaitsFor.Kind != kinds[path] {
			t.Errorf("%d of %s wait for %s", task.Count, path, task.WaitsFor)
		}
		if path == "/pay" {
			pay = task.ID
		}
	}
	observed.TextOf(t, p,
		fmt.Sprintf(", %d virtual threads, 40 of them in shop.Shop.order at Shop.java:31", p.VirtualThreads.Total))
	var b strings.Builder
	if err := text.WriteLocks(&b, l); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("\n%d virtual threads wait; deadlock unknown: what can wake %d virtual threads is not known\n",
			shopWaiters["/order"]+unknown, unknown),
		"\n  waiting: 40 virtual threads, the first in shop.Shop.order at Shop.java:31\n" +
			fmt.Sprintf("  held by virtual thread #%d ", pay),
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
