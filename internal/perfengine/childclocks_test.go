// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"os"
	"testing"

	"prywalk/internal/engine"
	"prywalk/internal/perfevents"
	"prywalk/internal/procmem"
)

func TestChildClocksGiveBackTheDescriptorsThatTheyTook(t *testing.T) {
	reader, err := perfevents.OpenDescendants()
	if err != nil {
		t.Skip(err)
	}
	launched := os.Getpid() // as Source.Launched, without the budget
	if err := reader.OpenThread(launched); err != nil {
		t.Fatal(err)
	}
	budget := procmem.NewFDBudget(0)
	clocks := &childClocks{shared: &engine.SharedState{Files: budget}, threads: func() int { return 0 }}
	before := budget.Left()
	clocks.begin(reader)
	clocks.giveUp()
	if after := budget.Left(); after != before {
		t.Errorf("%d descriptors are left, %d before", after, before)
	}
}
