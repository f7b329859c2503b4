package redisserver

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// answers compares the process id that the server on port reports with pid: another server may have
// been faster to bind the port. A server that requires a password first is recognised by its log,
// which contains "Ready" only after it has bound the port.
func answers(port, pid int, log string) bool {
	info, err := info(port)
	if err != nil {
		return false
	}
	if strings.HasPrefix(info, "-NOAUTH") || strings.HasPrefix(info, "-NOPERM") {
		return strings.Contains(log, "Ready to accept connections")
	}
	return strings.Contains(info, fmt.Sprintf("\r\nprocess_id:%d\r\n", pid)) &&
		!strings.Contains(info, "\r\nloading:1\r\n")
}

// info returns the reply to INFO.
func info(port int) (string, error) { return send(port, "INFO") }

// send returns the raw replies to commands.
func send(port int, commands ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte(strings.Join(commands, "\r\n") + "\r\n")); err != nil {
		return "", err
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil { // a Sentinel does not support QUIT
		return "", err
	}
	var reply bytes.Buffer
	_, err = reply.ReadFrom(conn)
	return reply.String(), err
}
