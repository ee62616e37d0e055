// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
)

func gzipCompress(body []byte) []byte {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err == nil {
		_, err = z.Write(body)
	}
	if err = cmp.Or(err, z.Close()); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// gzipDecompress fails for more than limit bytes.
func gzipDecompress(text []byte, limit int) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(z, int64(limit)+1))
	if err == nil && len(body) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	return body, err
}
