// SPDX-License-Identifier: Apache-2.0

// Package schema defines the version of prywalk's JSON, with which each result object begins. This package's tests make
// a JSON Schema of each form in docs/schema from the Go types.
package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Number is the version of all forms. It rises where a field is removed or changes its meaning, not where one is added.
const Number = 2

// Head is the first field of each object's struct.
type Head struct {
	// Version is the number of the forms' version.
	Version Version `json:"schema_version"`
}

// Version is [Number] in JSON.
type Version struct{}

// MarshalJSON implements [json.Marshaler].
func (Version) MarshalJSON() ([]byte, error) { return json.Marshal(Number) }

// UnmarshalJSON implements [json.Unmarshaler]; it refuses later versions.
func (Version) UnmarshalJSON(text []byte) error {
	var n int
	if err := json.Unmarshal(text, &n); err != nil {
		return err
	}
	if n > Number {
		return fmt.Errorf("schema_version %d is newer than this prywalk's, %d; read it with a later prywalk", n, Number)
	}
	return nil
}

// Hex is hexadecimal text in JSON.
type Hex uint64

// MarshalText implements encoding.TextMarshaler.
func (h Hex) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%#x", uint64(h)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hex) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(string(b), 0, 64)
	*h = Hex(v)
	return err
}
