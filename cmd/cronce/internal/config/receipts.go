package config

import (
	"fmt"
)

// Receipts returns the section receipts of the job sendSms and its path; nil: no receipts are
// served.
func (c *Config) Receipts() (at string, r *Receipts) {
	for i := range c.Jobs {
		if s := c.Jobs[i].SMS; s != nil && s.Receipts != nil {
			return fmt.Sprintf("jobs[%d].sms.receipts", i), s.Receipts
		}
	}
	return "", nil
}

// receiptsFaults checks the section. Without a token no receipts are served.
func (c *Config) receiptsFaults(bad func(path, format string, args ...any)) {
	at, r := c.Receipts()
	if r == nil {
		return
	}
	if r.Address == "" {
		bad(at+".address", "is missing, must be host:port, such as 127.0.0.1:8082, or off")
	}
	c.listenFaults(bad, at, HTTP{Address: r.Address, AllowRemote: r.AllowRemote})
	if r.TokenEnv == "" && r.TokenFile == "" {
		bad(at+".token_env", "and token_file are both missing, set one of them: the token proves that a receipt is the gateway's")
	}
}
