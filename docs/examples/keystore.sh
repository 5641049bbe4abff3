#!/bin/bash
# Makes an SROS 2 keystore with one enclave, /haptics, without the ros2 command line: bash keystore.sh keystore
# Its layout is that of `ros2 security create_keystore` and `create_enclave`.
set -e
K=${1:-keystore}
umask 077
mkdir -p $K/private $K/public $K/enclaves
openssl ecparam -name prime256v1 -genkey -noout -out $K/private/ca.key.pem
openssl req -new -x509 -sha256 -key $K/private/ca.key.pem -out $K/public/ca.cert.pem -days 3650 -subj "/CN=haptics"
cat > $K/governance.xml <<'X'
<?xml version="1.0"?>
<dds xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="http://www.omg.org/spec/DDS-SECURITY/20170901/omg_shared_ca_governance.xsd">
 <domain_access_rules><domain_rule>
  <domains><id_range><min>0</min><max>232</max></id_range></domains>
  <allow_unauthenticated_participants>false</allow_unauthenticated_participants>
  <enable_join_access_control>true</enable_join_access_control>
  <discovery_protection_kind>ENCRYPT</discovery_protection_kind>
  <liveliness_protection_kind>ENCRYPT</liveliness_protection_kind>
  <rtps_protection_kind>SIGN</rtps_protection_kind>
  <topic_access_rules><topic_rule>
   <topic_expression>*</topic_expression>
   <enable_discovery_protection>true</enable_discovery_protection>
   <enable_liveliness_protection>true</enable_liveliness_protection>
   <enable_read_access_control>true</enable_read_access_control>
   <enable_write_access_control>true</enable_write_access_control>
   <metadata_protection_kind>ENCRYPT</metadata_protection_kind>
   <data_protection_kind>ENCRYPT</data_protection_kind>
  </topic_rule></topic_access_rules>
 </domain_rule></domain_access_rules>
</dds>
X
sign() { openssl smime -sign -text -in $1 -out $2 --signer $K/public/ca.cert.pem -inkey $K/private/ca.key.pem; }
ENCLAVE=$K/enclaves/haptics
mkdir -p $ENCLAVE
sign $K/governance.xml $ENCLAVE/governance.p7s
openssl ecparam -name prime256v1 -genkey -noout -out $ENCLAVE/key.pem
openssl req -new -sha256 -key $ENCLAVE/key.pem -out $ENCLAVE/request.pem -subj "/CN=\/haptics"
openssl x509 -req -sha256 -in $ENCLAVE/request.pem -CA $K/public/ca.cert.pem -CAkey $K/private/ca.key.pem -CAcreateserial -days 3650 -out $ENCLAVE/cert.pem
cat > $K/permissions.xml <<'X'
<?xml version="1.0"?>
<dds xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="http://www.omg.org/spec/DDS-SECURITY/20170901/omg_shared_ca_permissions.xsd">
 <permissions><grant name="/haptics">
  <subject_name>CN=/haptics</subject_name>
  <validity><not_before>2020-01-01T00:00:00</not_before><not_after>2040-01-01T00:00:00</not_after></validity>
  <allow_rule><domains><id_range><min>0</min><max>232</max></id_range></domains>
   <publish><topics><topic>*</topic></topics></publish><subscribe><topics><topic>*</topic></topics></subscribe>
  </allow_rule><default>DENY</default>
 </grant></permissions>
</dds>
X
sign $K/permissions.xml $ENCLAVE/permissions.p7s
cp $K/public/ca.cert.pem $ENCLAVE/identity_ca.cert.pem; cp $K/public/ca.cert.pem $ENCLAVE/permissions_ca.cert.pem
