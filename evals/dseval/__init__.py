"""Problem sets of DSEval: what each problem leaves in the session is compared with what reference code leaves."""
