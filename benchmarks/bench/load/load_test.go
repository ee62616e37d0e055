// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"encoding/json"
	"io"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func TestTheLoadWorksUntilItsInputEnds(t *testing.T) {
	in, orders := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Run(t.Context(), Options{Running: 2, Sleeping: 6}, in, out)
		out.Close()
	}()
	lines := bufio.NewReader(answers)
	if line, err := lines.ReadString('\n'); line != Ready+"\n" || err != nil {
		t.Fatalf("%q %v", line, err)
	}
	var r Report
	testtargets.Eventually(t, "work is done", func() bool {
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
		if r.Waits != nil {
			t.Error("it waits for nothing")
		}
		return r.Work > 0
	})
	orders.Close()
	if err := bounded.Receive(t, "the load ends", done); err != nil {
		t.Error(err)
	}
}
