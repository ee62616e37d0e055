// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"errors"
	"fmt"

	"prywalk/internal/base/protobuf"
)

var otherFormats = []struct{ magic, what string }{
	{"PERFILE2", "it is perf's perf.data; convert it with perf_to_profile, or record with prywalk"},
	{"2ELIFREP", "it is perf's perf.data; convert it with perf_to_profile, or record with prywalk"},
	{"{", "it is JSON (a Speedscope or Firefox profile?); give the recording that it was made from"},
	{"[", "it is JSON (a trace?); give the recording that it was made from"},
	{"\x7fELF", "it is a program; give the recording of it"},
	{"<", "it is a web page; give the recording that it was made from"},
	{"PK\x03\x04", "it is a zip archive; unpack it first"},
	{"\x28\xb5\x2f\xfd", "it is compressed with zstd; decompress it first"},
	{"\xfd7zXZ", "it is compressed with xz; decompress it first"},
	{"FLR\x00", "it is a Java flight recording, for which there are other tools"},
}

// otherFormat returns an error that names data's format, nil if unknown. Precondition: data is no whole protocol
// buffer, which may begin like another format.
func otherFormat(data []byte) error {
	for _, o := range otherFormats {
		if bytes.HasPrefix(data, []byte(o.magic)) {
			return fmt.Errorf("%w: %s", ErrFormat, o.what)
		}
	}
	return nil
}

// scan reports whether a Profile's fields fill data exactly, or are cut off.
func scan(data []byte) (whole, cut bool) {
	for first := true; len(data) > 0; first = false {
		f, rest, err := protobuf.Next(data)
		switch {
		case errors.Is(err, protobuf.ErrCut):
			return false, !first
		case err != nil || f.Number < 1 || f.Number > fieldDocURL || f.Wire != protobuf.Varint && f.Wire != protobuf.Bytes:
			return false, false
		}
		data = rest
	}
	return true, false
}
