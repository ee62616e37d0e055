// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"prywalk/benchmarks/bench/load"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func TestServersAnswerAndEndWithTheirDriver(t *testing.T) {
	for _, kind := range Servers() {
		t.Run(kind, func(t *testing.T) {
			in, orders := io.Pipe()
			answers, out := io.Pipe()
			done := make(chan error, 1)
			go func() {
				done <- Run(t.Context(), Options{Kind: kind, Running: 3}, in, out)
				out.Close()
			}()
			lines := bufio.NewReader(answers)
			line, err := lines.ReadString('\n')
			if strings.HasPrefix(line, load.Absent) {
				t.Log(line)
				testtargets.Need(t, false, kind, testtargets.SetUp)
			}
			ready, pids, _ := strings.Cut(strings.TrimSpace(line), " ")
			pid, _, _ := strings.Cut(pids, ",")
			if _, here := os.Stat("/proc/" + pid); err != nil || ready != load.Ready || here != nil {
				t.Fatalf("%q %v %v %v", line, err, here, bounded.Receive(t, "the load ends", done))
			}
			if several := strings.Contains(pids, ","); kind == Postgres && !several {
				t.Errorf("processes %q: without those of the clients", pids)
			}
			for r := (load.Report{}); r.Work < 10 || r.Waits == nil; {
				if _, err := io.WriteString(orders, "?\n"); err != nil {
					t.Fatal(err)
				}
				line, err := lines.ReadBytes('\n')
				if err == nil {
					err = json.Unmarshal(line, &r)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			orders.Close()
			if err := bounded.Receive(t, "the load ends", done); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat("/proc/" + pid); err == nil {
				t.Error("the server is still there")
			}
		})
	}
}
