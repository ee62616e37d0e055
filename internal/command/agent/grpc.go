// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"prywalk/internal/store/otlp"
)

const profilesProcedure = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

// prefixSize is that of the compression flag and the length (Length-Prefixed-Message in gRPC's PROTOCOL-HTTP2.md).
const prefixSize = 5

type grpcClient struct{ poster poster }

func (c grpcClient) send(ctx context.Context, body []byte) (reply, *failure) {
	header := map[string]string{
		"Content-Type": "application/grpc+proto", "Te": "trailers", "Grpc-Encoding": "gzip", "Grpc-Accept-Encoding": "gzip",
	}
	if deadline, ok := ctx.Deadline(); ok {
		header["Grpc-Timeout"] = strconv.FormatInt(max(time.Until(deadline).Milliseconds(), 1), 10) + "m"
	}
	message := gzipCompress(body)
	frame := append(binary.BigEndian.AppendUint32([]byte{1}, uint32(len(message))), message...)
	answer, text, f := c.poster.post(ctx, frame, header)
	switch {
	case f != nil:
		return reply{}, f
	case answer.StatusCode != http.StatusOK:
		return reply{}, httpFailure(answer, text)
	}
	if f := grpcFailure(answer); f != nil {
		return reply{}, f
	}
	return acceptedReply(grpcUnframe(text, answer.Header.Get("Grpc-Encoding"))), nil
}

// grpcUnframe returns nil for an unreadable message.
func grpcUnframe(text []byte, encoding string) []byte {
	if len(text) < prefixSize || uint64(len(text)-prefixSize) < uint64(binary.BigEndian.Uint32(text[1:])) {
		return nil
	}
	message := text[prefixSize:][:binary.BigEndian.Uint32(text[1:])]
	switch {
	case text[0] == 0:
		return message
	case encoding == "gzip":
		message, _ = gzipDecompress(message, maxReply)
		return message
	}
	return nil
}

// grpcFailure returns nil for an accepted message. The retryable codes are those of OTLP/gRPC, Failures;
// RESOURCE_EXHAUSTED is retryable with RetryInfo, without it the message is too large.
func grpcFailure(answer *http.Response) *failure {
	status := answer.Trailer
	if answer.Header.Get("Grpc-Status") != "" { // a reply without body (Trailers-Only)
		status = answer.Header
	}
	code, err := strconv.ParseUint(status.Get("Grpc-Status"), 10, 31)
	switch {
	case err != nil:
		return &failure{kind: retryable, err: errors.New("the reply has no gRPC status: is this the port for gRPC?")}
	case code == 0:
		return nil
	}
	f := &failure{kind: refused, err: fmt.Errorf("the receiver says gRPC status %d", code)}
	if why, err := url.PathUnescape(status.Get("Grpc-Message")); err == nil && why != "" {
		f.err = fmt.Errorf("%w: %s", f.err, receiversText(why))
	}
	delay, retry := otlp.RetryDelay(details(status))
	f.notBefore = delay
	switch code { // doc/statuscodes.md of gRPC
	case 1, 4, 10, 11, 14, 15: // CANCELLED, DEADLINE_EXCEEDED, ABORTED, OUT_OF_RANGE, UNAVAILABLE, DATA_LOSS
		f.setBusy()
	case 8: // RESOURCE_EXHAUSTED
		f.kind = tooLarge
		if retry {
			f.setBusy()
		}
	case 16, 7: // UNAUTHENTICATED, PERMISSION_DENIED
		f.why = lostUnauthorized
	case 5, 12: // NOT_FOUND, UNIMPLEMENTED
		f.why = lostNotFound
	}
	return f
}

// details returns a google.rpc.Status, or nil. Its base64 may be padded.
func details(status http.Header) []byte {
	text := strings.TrimRight(status.Get("Grpc-Status-Details-Bin"), "=")
	out, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return out
}
