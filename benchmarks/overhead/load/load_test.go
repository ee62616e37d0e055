// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"encoding/json"
	"io"
	"testing"
	"time"

	"prywalk/benchmarks/bench/load"
	"prywalk/internal/testtargets/bounded"
)

func TestEveryLoadWorksUntilItsInputEnds(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind, func(t *testing.T) {
			in, orders := io.Pipe()
			answers, out := io.Pipe()
			done := make(chan error, 1)
			go func() {
				done <- Run(t.Context(), Options{Kind: kind, Running: 2, Sleeping: 6, Depth: 100}, in, out)
				out.Close()
			}()
			lines := bufio.NewReader(answers)
			if line, err := lines.ReadString('\n'); line != load.Ready+"\n" || err != nil {
				t.Fatalf("%q %v", line, err)
			}
			waits := map[string]bool{Wake: true, Locks: true, Requests: true, GoServer: true}[kind]
			var r load.Report
			for r.Work == 0 || waits && r.Waits == nil {
				time.Sleep(time.Millisecond) // between two queries
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
			if !waits && r.Waits != nil {
				t.Error("it waits for nothing")
			}
			orders.Close()
			if err := bounded.Receive(t, "the load ends", done); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestALoadThatIsNotThereIsRefused(t *testing.T) {
	if err := Run(t.Context(), Options{Kind: "none", Running: 1}, nil, io.Discard); err == nil {
		t.Error("it ran")
	}
}
