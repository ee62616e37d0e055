// SPDX-License-Identifier: Apache-2.0

package errs

import (
	"errors"
	"fmt"
	"testing"
)

func TestReasonsAreDistinguished(t *testing.T) {
	words, texts := map[string]bool{}, map[string]bool{}
	for r := Other; r < NumReasons; r++ {
		if words[r.Word()] || texts[r.Error()] || r.Word() == "" || r.Error() == "" {
			t.Errorf("%d: %q, %q", r, r.Word(), r.Error())
		}
		words[r.Word()], texts[r.Error()] = true, true
		err := fmt.Errorf("thread 7: %w", r)
		if Of(r) != r || Of(err) != r || OfWord(r.Word()) != r || !errors.Is(err, r) || errors.Is(err, (r+1)%NumReasons) {
			t.Errorf("%v is not found in what wraps it", r)
		}
	}
	if Of(nil) != Other || Of(errors.New("x")) != Other || OfWord("x") != Other {
		t.Error("a reason is found where there is none")
	}
}

func TestReasonsCostNoMemory(t *testing.T) {
	var err error
	if n := testing.AllocsPerRun(100, func() {
		for r := Other; r < NumReasons; r++ {
			if err = r; Of(err) != r {
				t.Fail()
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
