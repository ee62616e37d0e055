// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestAnExactNameNeedNotBeARegularExpression(t *testing.T) {
	for _, name := range []string{"operator++", "std::vector<int>::operator[](unsigned long)"} {
		p := ticked(t, 10, map[uint64]int64{0x20: 10})
		for _, f := range p.Function {
			f.Name = strings.Replace(f.Name, "serve", name, 1)
		}
		var b bytes.Buffer
		if err := Callers(&b, p, name, Options{}); err != nil || !strings.Contains(b.String(), "main") {
			t.Errorf("callers of %s: %v\n%s", name, err, &b)
		}
		if err := Callees(&b, p, name, Options{}); err != nil {
			t.Errorf("callees of %s: %v", name, err)
		}
		if err := Callers(&b, p, name+"++", Options{}); !errors.Is(err, ErrExpr) {
			t.Errorf("callers of no function: %v", err)
		}
	}
}
