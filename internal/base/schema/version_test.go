// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestLaterVersionsAreRefused(t *testing.T) {
	for text, ok := range map[string]bool{fmt.Sprint(Number): true, "0": true, fmt.Sprint(Number + 1): false, `"1"`: false,
		"1.5": false} {
		var h Head
		err := json.Unmarshal(fmt.Appendf(nil, `{"schema_version":%s}`, text), &h)
		if (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
	if b, err := json.Marshal(Version{}); string(b) != fmt.Sprint(Number) || err != nil {
		t.Errorf("%s, %v", b, err)
	}
}

func TestHexIsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]Hex{"0x10": 16, "0": 0, "0xffffffffffffffff": 1<<64 - 1} {
		var h Hex
		if err := h.UnmarshalText([]byte(text)); err != nil || h != want {
			t.Errorf("%s: %v, %v", text, h, err)
		}
	}
	if b, err := Hex(16).MarshalText(); string(b) != "0x10" || err != nil {
		t.Errorf("%s, %v", b, err)
	}
	for _, text := range []string{"", "x", "0x1ffffffffffffffff"} {
		if err := new(Hex).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}
